"""The store contract for the container counts of the status and the metrics."""

from typing import Protocol


class ContainerCounts(Protocol):
    """The number of containers of all tenants."""

    async def running_containers(self) -> int:
        """Return the number of containers that have not expired. Raises `StoreError`."""
        ...
