"""Switch the embedded box on and off."""

from __future__ import annotations

from zuka.sandbox.command import EXAMPLES, main

__all__ = ["EXAMPLES", "HELP", "main"]

HELP = "the embedded box to practise with: up, down, preempt, replace, status, ssh"
