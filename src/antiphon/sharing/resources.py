"""The resources that tenants share in this process, by name: for metrics, `antiphon status` and the log."""

from collections.abc import Mapping

from antiphon.sharing.scheduler import FairScheduler, Usage


class SharedResources:
    """The schedulers of this process, except those of backends, which report their own queues."""

    def __init__(self) -> None:
        self._schedulers: dict[str, FairScheduler] = {}

    def add(self, name: str, scheduler: FairScheduler) -> FairScheduler:
        """Register a scheduler under this name, and return it."""
        self._schedulers[name] = scheduler
        return scheduler

    def usage(self) -> Mapping[str, Usage]:
        """Return what is in use of each resource, and what waits."""
        return {name: scheduler.usage for name, scheduler in self._schedulers.items()}
