"""The resources that tenants share in this process, by name: for metrics, `antiphon status` and the
log.
"""

from collections.abc import Mapping
from typing import Protocol, TypeVar

from antiphon.sharing.scheduler import SchedulerUsage


class SharedResource(Protocol):
    """A shared resource: a scheduler, or memory."""

    @property
    def usage(self) -> SchedulerUsage:
        """The current usage."""
        ...


S = TypeVar("S", bound=SharedResource)


class SharedResources:
    """The shared resources of this process, except the schedulers of backends, which report their
    own queues.
    """

    def __init__(self) -> None:
        self._resources: dict[str, SharedResource] = {}

    def add(self, name: str, resource: S) -> S:
        """Register a resource under this name, and return it."""
        self._resources[name] = resource
        return resource

    def usage(self) -> Mapping[str, SchedulerUsage]:
        """Return the usage and the queue of each resource."""
        return {name: resource.usage for name, resource in self._resources.items()}
