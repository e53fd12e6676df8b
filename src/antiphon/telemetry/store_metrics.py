"""Times the operations of the store, and counts its failures."""

from antiphon.storage.store import Store
from antiphon.telemetry.metrics import Measures


def observe_store(store: Store, measures: Measures) -> None:
    """Time every operation of a store, and count those that fail by their names."""

    def observe(name: str, kind: str, seconds: float, failed: bool) -> None:
        if failed:
            measures.store_errors.add(name)
        measures.store.observe(seconds, kind)

    store.observer = observe
