"""What a platform means is said: a wrong name, an address of no use, a bill that goes on."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zuka.finding import LANGUAGES, Finding
from zuka.platforms import Detected, detect, load, meter, mismatch, names, recognised, refused
from zuka.shell import clean

SURE_VAST = Detected("vast", ("$VAST_CONTAINERLABEL",), "sure")
MISMATCHES = [
    ("", SURE_VAST, None),
    ("vast", SURE_VAST, None),
    ("generic", SURE_VAST, None),
    ("autodl", SURE_VAST, "mismatch"),
    ("lab", SURE_VAST, "mismatch"),
    ("autodl", Detected("gpushare", ("/hy-tmp",), "likely"), "perhaps-mismatch"),
    ("aws", Detected("lab", ("10.0.0.7",), "likely"), None),
    ("vast", Detected("runpod", ("$RUNPOD_POD_ID",), "likely", ("vast",)), None),
    ("autodl", Detected(asked=True), "unconfirmed"),
    ("autodl", Detected(asked=False), None),
    ("matpool", Detected(asked=True), None),
    ("lab", Detected(asked=True), None),
    ("vats", SURE_VAST, "unknown-platform"),
    ("AutoDL", Detected(), "unknown-platform"),
    ("\x1b[31m{boom}", Detected(), "unknown-platform"),
]


@pytest.mark.parametrize(("said", "detected", "verdict"), MISMATCHES)
def test_a_wrong_platform_is_spoken_of(said: str, detected: Detected, verdict: str | None) -> None:
    """What the user wrote is believed, unless the box contradicts it."""
    found = mismatch(said, detected)

    assert verdict == (found and found.verdict)
    if found:
        _is_told(found)


def test_a_misspelt_platform_is_guessed() -> None:
    """The next step names the platform that was meant."""
    found = mismatch("AutoDL", Detected())

    assert found is not None
    assert "`platform: autodl`" in found.next()


ADDRESSES = [
    ("ssh.runpod.io", "aaaabbbbccccdd-64410000", "pty-only-proxy"),
    ("aaaabbbbccccdd-64410000@SSH.runpod.io.", "", "pty-only-proxy"),
    ("ssh://ssh.runpod.io:22", "", "pty-only-proxy"),
    ("https://abc-8888.proxy.runpod.net/lab", "", "web-address"),
    ("https://u000000-aaaa-00000000.nowhere.seetacloud.com:8443", "", "web-address"),
    ("www.autodl.com", "", "web-address"),
    ("cloud.vast.ai", "", "web-address"),
    ("featurize.cn", "", "web-address"),
    ("192.0.2.10", "root", None),
    ("connect.nowhere.seetacloud.com", "root", None),
    ("ssh4.vast.ai", "root", None),
    ("ssh.runpod.io.example.com", "", None),
    ("[2001:db8::1]:22", "", None),
    ("", "", None),
]


@pytest.mark.parametrize(("address", "user", "verdict"), ADDRESSES)
def test_an_address_of_no_use_is_refused(address: str, user: str, verdict: str | None) -> None:
    """Said before the first packet, with the way out."""
    found = refused(address, user)

    assert verdict == (found and found.verdict)
    if found:
        assert "bad" == found.level
        assert user == found.facts["user"]
        _is_told(found)


METERS = {
    "autodl": "bill-ends", "featurize": "bill-ends",
    "aws": "storage-billed", "runpod": "storage-billed", "vast": "storage-billed",
    "aliyun": "bill-goes-on", "lambda": "bill-goes-on", "tencent": "bill-goes-on",
    "generic": "bill-unknown", "gpushare": "bill-unknown", "matpool": "bill-unknown",
    "lab": "no-bill",
}  # fmt: skip


@pytest.mark.parametrize("name", names())
def test_what_a_power_off_does_to_the_bill_is_said(name: str) -> None:
    """The four classes of meters have four verdicts, and a lab has none."""
    found = meter(load(name))

    assert METERS[name] == found.verdict
    assert found.facts["confirm"].keys() == {"en", "zh"}
    _is_told(found)


@pytest.mark.parametrize(
    ("detected", "verdict"),
    [
        (SURE_VAST, "recognised"),
        (Detected("gpushare", ("/hy-tmp",), "likely"), "looks-like"),
        (Detected("runpod", ("$RUNPOD_POD_ID",), "likely", ("vast",)), "two-platforms"),
        (Detected(), "unrecognised"),
    ],
)
def test_what_was_recognised_is_said(detected: Detected, verdict: str) -> None:
    """People read what the box was taken for."""
    assert verdict == recognised(detected).verdict
    _is_told(recognised(detected))


def _is_told(found: Finding) -> None:
    """Check that each language says it, with every fact filled in and no escapes."""
    for each in LANGUAGES:
        told = found.means(each) + found.next(each)
        assert told
        assert clean(told) == told
    json.dumps(found.plain())


@given(st.text(), st.text(), st.text())
def test_any_text_is_an_answer(answer: str, address: str, said: str) -> None:
    """The box is a stranger, and so are recipes."""
    detected = detect(answer, address)

    _is_told(recognised(detected))
    refused(address, said)
    if wrong := mismatch(said, detected):
        _is_told(wrong)
