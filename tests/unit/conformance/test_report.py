"""A run's report as data."""

import pytest

from antiphon_verify.errors import VerifyError
from antiphon_verify.report import Report, Result, Shown, decode_reports, encode_report


def result(name: str = "a:b:c", **fields: object) -> Result:
    reported = {
        "level": "must",
        "kind": "protocol",
        "source": "spec 7",
        "sentence": "It is so.",
        "outcome": "passed",
    }
    return Result(id=name, **{**reported, **fields})  # type: ignore[arg-type]


def report(*results: Result) -> Report:
    fields = {
        "version": "1",
        "base_url": "http://x/v1",
        "model": "m",
        "started_at": 1,
        "seconds": 0.1,
        "requests": 1,
    }
    return Report(results=results, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("other", "conforms"),
    [
        (result(), True),
        (result(outcome="failed"), False),
        (result(outcome="failed", level="should"), True),
        (result(outcome="failed", kind="capability"), True),
        (result(outcome="skipped"), True),
        (result(outcome="not offered"), True),
    ],
)
def test_a_server_conforms_if_no_must_of_the_protocol_is_broken(
    other: Result, conforms: bool
) -> None:
    assert report(result(), other).conforms is conforms


def test_a_server_of_which_nothing_was_seen_does_not_conform() -> None:
    assert not report().conforms
    assert not report(result(outcome="not offered"), result(level="may")).conforms


def test_results_are_counted_and_sorted_by_area() -> None:
    one = report(
        result("a:b:c"), result("a:d:e", outcome="failed"), result("a:b:f", kind="capability")
    )

    assert one.counted() == {"passed": 2, "failed": 1, "blocked": 0, "not offered": 0, "skipped": 0}
    assert {area: [each.id for each in results] for area, results in one.by_area().items()} == {
        "a:b": ["a:b:c"],
        "a:d": ["a:d:e"],
    }
    assert list(one.by_area("capability")) == ["a:b"]


def test_a_report_is_read_as_it_was_written() -> None:
    one = report(result(exchanges=(Shown(request="GET", answer="200"),), came="é"))

    assert decode_reports([("x", encode_report(one))]) == [one]


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"\xff", b'{"results": 1}'])
def test_an_invalid_report_is_reported_by_its_name(data: bytes) -> None:
    with pytest.raises(VerifyError, match=r"x\.json"):
        decode_reports([("x.json", data)])
