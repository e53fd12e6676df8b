"""HTTP requests: their number and their duration. One update of one record counts for both
metrics.
"""

from collections.abc import Iterator, Sequence

from antiphon.telemetry.kinds import MODEL_SECONDS, Labels, Sample, Spread, spreads

HTTP_SECONDS = (0.005, 0.01, 0.025, *MODEL_SECONDS)
"""Buckets for a request: 5 ms to 10 minutes. A stream lasts as long as its model generates."""


class RequestCounter:
    """Requests by route, method and status.

    Each request changes `spreads` directly, without a call: `bounds` are those of its buckets.
    """

    name = "antiphon_http_requests"
    kind = "counter"
    text = "Requests that were answered."
    names: Labels = ("route", "method", "status")
    bounds: Sequence[float] = ()

    def __init__(self) -> None:
        self.spreads = spreads(HTTP_SECONDS)

    def samples(self) -> Iterator[Sample]:
        """See `Metric.samples`."""
        for labels, spread in list(self.spreads.items()):
            yield Sample(dict(zip(self.names, labels, strict=True)), sum(spread.counts))


class RequestSeconds:
    """The durations of the same requests, by route and class of status, such as `2xx`."""

    name = "antiphon_http_request_seconds"
    kind = "histogram"
    text = "Time from the start of a request to the end of its reply."
    names: Labels = ("route", "status_class")
    bounds: Sequence[float] = HTTP_SECONDS

    def __init__(self, counted: RequestCounter) -> None:
        self._counted = counted

    def samples(self) -> Iterator[Sample]:
        """See `Metric.samples`."""
        found = spreads(HTTP_SECONDS)
        for (route, _, status), spread in list(self._counted.spreads.items()):
            _add(found[route, class_of(status)], spread)
        for labels, spread in found.items():
            yield Sample(
                dict(zip(self.names, labels, strict=True)), spread.total, tuple(spread.counts)
            )


def class_of(status: str) -> str:
    """Return the class of a status; `gone` for a client that disconnected before the response."""
    return f"{status[0]}xx" if status.isdecimal() else status


def _add(to: Spread, one: Spread) -> None:
    to.total += one.total
    to.counts = [sum(pair) for pair in zip(to.counts, one.counts, strict=True)]
