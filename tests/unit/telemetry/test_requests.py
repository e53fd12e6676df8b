"""Requests are counted by status and timed by class of status, out of one record."""

from bisect import bisect_left

from antiphon.telemetry.kinds import Sample
from antiphon.telemetry.requests import HTTP_SECONDS, RequestCounter, RequestSeconds, class_of


def counted(*requests: tuple[str, str, str, float]) -> RequestCounter:
    counter = RequestCounter()
    for route, method, status, seconds in requests:
        spread = counter.spreads[route, method, status]
        spread.counts[bisect_left(HTTP_SECONDS, seconds)] += 1
        spread.total += seconds
    return counter


def test_each_route_method_and_status_has_its_count() -> None:
    counter = counted(
        ("/a", "GET", "200", 0.1), ("/a", "GET", "200", 2.0), ("/a", "POST", "404", 0.1)
    )

    assert list(counter.samples()) == [
        Sample({"route": "/a", "method": "GET", "status": "200"}, 2),
        Sample({"route": "/a", "method": "POST", "status": "404"}, 1),
    ]


def test_durations_are_added_up_by_route_and_class_of_status() -> None:
    counter = counted(
        ("/a", "GET", "200", 0.1), ("/a", "POST", "201", 2.0), ("/a", "GET", "404", 0.004)
    )
    good, bad = RequestSeconds(counter).samples()

    assert (good.labels, good.value, sum(good.counts)) == (
        {"route": "/a", "status_class": "2xx"},
        2.1,
        2,
    )
    assert good.counts[HTTP_SECONDS.index(0.1)] == good.counts[HTTP_SECONDS.index(2.5)] == 1
    assert (bad.labels, bad.counts[0]) == ({"route": "/a", "status_class": "4xx"}, 1)
    assert RequestSeconds(counter).samples().__next__() == good, "reading changes nothing"


def test_a_client_that_left_has_a_class_of_its_own() -> None:
    assert [class_of(status) for status in ("101", "200", "503", "gone")] == [
        "1xx",
        "2xx",
        "5xx",
        "gone",
    ]
