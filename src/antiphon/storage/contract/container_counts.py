"""The part of the contract that counts containers, for the status and metrics."""

from typing import Protocol


class ContainerCounts(Protocol):
    """Counts of the containers of all tenants."""

    async def running_containers(self) -> int:
        """Return how many containers have not expired. Raises `StoreError`."""
        ...
