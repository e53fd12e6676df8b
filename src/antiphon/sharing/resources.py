"""The resources that tenants share in this process, by name: for metrics, `antiphon status` and the log."""

from collections.abc import Mapping

from antiphon.sharing.scheduler import FairScheduler, Usage


class SharedResources:
    """Every scheduler of this process that stands for a resource of its own. Backends report their own queues."""

    def __init__(self) -> None:
        self._schedulers: dict[str, FairScheduler] = {}

    def add(self, name: str, scheduler: FairScheduler) -> FairScheduler:
        """Report a scheduler under this name from now on, and return it."""
        self._schedulers[name] = scheduler
        return scheduler

    def usage(self) -> Mapping[str, Usage]:
        """Return what is in use of each resource, and what waits."""
        return {name: scheduler.usage for name, scheduler in self._schedulers.items()}
