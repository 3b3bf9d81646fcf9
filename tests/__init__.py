"""The tests of zuka."""
