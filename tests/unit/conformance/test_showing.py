"""Exchanges for a reader."""

from antiphon_verify.exchange import Exchange, Request
from antiphon_verify.reading import legible, preview
from antiphon_verify.report import LONGEST, Shown, curl, displayed, encode_report, raw
from antiphon_verify.requirement import Verdict, must
from antiphon_verify.run import results
from tests.support.cases import each
from tests.unit.conformance.test_report import report
from tests.unit.conformance.test_run import tried


def test_an_exchange_is_displayed_with_its_headers_and_bodies() -> None:
    request = Request(method="POST", path="/x", body={}, headers={"A": "b"})
    exchange = Exchange(
        request, status=200, headers={"c": "d"}, body=b"yes", fault="The time was up."
    )

    assert displayed(exchange) == Shown(
        request="POST /x\nA: b\n\n{}", answer="200\nc: d\n\nyes\n[The time was up.]"
    )
    assert raw(exchange) == b"POST /x\nA: b\n\n{}\n\n200\nc: d\n\nyes\n[The time was up.]\n"


def test_a_long_body_is_cut() -> None:
    exchange = Exchange(Request(method="GET", path="/x"), status=200, body=b"y" * (LONGEST + 7))

    assert displayed(exchange).answer == f"200\n\n{'y' * LONGEST}\n[7 more characters]"


def test_half_a_character_is_displayed_by_its_number() -> None:
    exchange = Exchange(Request(method="GET", path="/\ud800"), status=200, headers={"x": "\udcff"})

    assert legible("\ud800 é \U0001f600") == "\\ud800 é \U0001f600"
    assert displayed(exchange) == Shown(request="GET /\\ud800", answer="200\nx: \\udcff")
    assert raw(exchange) == b"GET /\\ud800\n\n\n\n200\nx: \\udcff\n\n\n"


def test_terminal_control_characters_are_displayed_by_their_number() -> None:
    exchange = Exchange(
        Request(method="GET", path="/x"), status=200, body=b"\x1b[2J\x07\ttab\nline \xe2\x80\xae"
    )

    assert displayed(exchange).answer == "200\n\n\\u001b[2J\\u0007\ttab\nline \\u202e"


def test_half_a_character_in_an_answer_leaves_the_report_writable() -> None:
    failed = tried(Verdict("failed", preview({"role": "\udfff"})))
    reported = results([must("a:b:c", "spec 5", "It is so.")], failed, {})

    assert reported[0].came == '{"role": "\\udfff"}'
    assert encode_report(report(*reported))


BODIES = {b'{"a": 1}': True, b"one\ntwo": True, b"one\r\ntwo": False, b"\xff": False}
"""By the body of a request: whether a command shows it as it is."""


@each(("body", "is_displayed"), BODIES.items())
def test_a_body_that_no_command_shows_has_no_command(body: bytes, is_displayed: bool) -> None:
    assert bool(curl(Request(method="POST", path="/files", content=body))) == is_displayed
