"""Metrics of the store, which measures itself; read when they are scraped."""

from collections.abc import Iterator, Sequence

from antiphon.storage.store import SECONDS, Store
from antiphon.telemetry.kinds import Labels, Metric, ObservedNumbers, Sample


def store_metrics(store: Store) -> list[Metric]:
    """Return the durations of operations, and how many failed."""
    errors = ObservedNumbers(
        "antiphon_store_errors",
        "Failed store operations.",
        "operation",
        poll_once=lambda: {(name,): count for name, count in store.failures.items()},
        kind="counter",
    )
    return [StoreSeconds(store), errors]


class StoreSeconds:
    """The durations of a store's operations, by their kind."""

    name = "antiphon_store_seconds"
    kind = "histogram"
    text = "Duration of store operations."
    names: Labels = ("kind",)
    bounds: Sequence[float] = SECONDS

    def __init__(self, store: Store) -> None:
        self._durations = store.durations

    def samples(self) -> Iterator[Sample]:
        """See `Metric.samples`."""
        for kind, durations in self._durations.items():
            if any(durations.counts):
                yield Sample({"kind": kind}, durations.total, tuple(durations.counts))
