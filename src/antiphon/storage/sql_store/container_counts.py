"""Container counts of the SQL stores."""

from antiphon.storage.operations import container_counts
from antiphon.storage.sql_store.performer import Performer


class SqlContainerCounts(Performer):
    """See `ContainerCounts`."""

    async def running_containers(self) -> int:
        """See `Store.running_containers`."""
        return await self._read(lambda: container_counts.running(self._now()))
