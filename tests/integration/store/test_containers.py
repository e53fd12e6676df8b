"""`check_store` names each promise about containers that a store breaks: the SQLite store, with one
method changed.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from antiphon.storage.records.containers import (
    ContainerQuery,
    ContainerQuota,
    FoundContainer,
    StoredContainer,
    StoredContainerFile,
)
from antiphon.storage.records.pages import Page
from antiphon.storage.sqlite.store import SqliteStore
from tests.integration.store.test_check import CountsNot, verdict
from tests.store import check
from tests.support.changed_stores import ChangedStore

NO_QUOTA = ContainerQuota(10**9, 10**9, 10**12)

Files = Sequence[StoredContainerFile]


class ForgetsWhatIsAuto(ChangedStore):
    async def put_container(self, container: StoredContainer, *how: Any, **more: Any) -> bool:
        return await self.original.put_container(replace(container, is_auto=False), *how, **more)


class IgnoresNames(ChangedStore):
    async def container_page(
        self, tenant: str | None, query: ContainerQuery
    ) -> Page[StoredContainer]:
        return await self.original.container_page(tenant, replace(query, name=None))


class AdmitsEveryContainer(ChangedStore):
    async def put_container(
        self, container: StoredContainer, files: Files, quota: ContainerQuota, **more: Any
    ) -> bool:
        return await self.original.put_container(
            container, files, replace(quota, containers=10**9), **more
        )


class ListsFilesForwards(ChangedStore):
    async def container_file_page(
        self, tenant: str, container_id: str, query: ContainerQuery
    ) -> Page[StoredContainerFile]:
        return await self.original.container_file_page(
            tenant, container_id, replace(query, descending=False)
        )


class ReturnsWhatItReceived(ChangedStore):
    async def put_container_files(
        self, tenant: str, container_id: str, files: Files, *how: Any, **more: Any
    ) -> Files | None:
        stored = await self.original.put_container_files(tenant, container_id, files, *how, **more)
        return stored and files


class HoldsAnyNumberOfFiles(ChangedStore):
    async def put_container_files(
        self,
        tenant: str,
        container_id: str,
        files: Files,
        quota: ContainerQuota,
        *how: Any,
        **more: Any,
    ) -> Files | None:
        return await self.original.put_container_files(
            tenant, container_id, files, NO_QUOTA, *how, **more
        )


class ReleasesNoBlobs(CountsNot):
    lacks = ("container_files_deleted",)


class CountsNoReplacedFiles(CountsNot):
    lacks = ("container_files_replaced",)


class LeasesToAll(ChangedStore):
    async def hold_container(
        self, tenant: str, container_id: str, *how: Any
    ) -> StoredContainer | None:
        found = await self.original.hold_container(tenant, container_id, *how)
        return found and replace(found, is_busy=False)


class ForgetsTheHolder(ChangedStore):
    async def put_container_files(
        self,
        tenant: str,
        container_id: str,
        files: Files,
        quota: ContainerQuota,
        holder: str = "",
        **more: Any,
    ) -> Files | None:
        return await self.original.put_container_files(
            tenant, container_id, files, quota, "", **more
        )


class RenewsDeletedLeases(ChangedStore):
    async def renew_hold(self, tenant: str, container_id: str, *how: Any) -> bool:
        await self.original.renew_hold(tenant, container_id, *how)
        return True


class ExpiresNothing(ChangedStore):
    async def expire_containers(self, limit: int) -> int:
        return 0


class PurgesNoContainers(ChangedStore):
    async def purge(self, table: str, age: int, limit: int) -> int:
        removed: int = 1 if table == "containers" else await self.original.purge(table, age, limit)
        return removed


class NotesNoUse(ChangedStore):
    async def use_container(self, tenant: str, container_id: str) -> StoredContainer | None:
        found = await self.original.load_container(tenant, container_id)
        return found and found.container


class RecordsEveryRead(ChangedStore):
    async def load_container(self, tenant: str, container_id: str) -> FoundContainer | None:
        await self.original.use_container(tenant, container_id)
        return await self.original.load_container(tenant, container_id)


BROKEN = [
    (ForgetsWhatIsAuto, "A container is returned as it was stored"),
    (IgnoresNames, "Containers are listed in the order of their creation,"),
    (AdmitsEveryContainer, "A tenant never runs more containers than its quota,"),
    (ListsFilesForwards, "A file is returned as it was stored, until it is deleted;"),
    (ReturnsWhatItReceived, "A file replaces the one at its path and has its id;"),
    (CountsNoReplacedFiles, "A file replaces the one at its path and has its id;"),
    (HoldsAnyNumberOfFiles, "A container never has more files or bytes than its quota:"),
    (ReleasesNoBlobs, "A container's file can have the blob of the tenant's file,"),
    (LeasesToAll, "Of many concurrent holders of a container one holds it,"),
    (ForgetsTheHolder, "A hold expires; once another holder has the container,"),
    (RenewsDeletedLeases, "A container that is deleted while it is held accepts nothing more:"),
    (ExpiresNothing, "A container that was idle for too long expires permanently;"),
    (PurgesNoContainers, "A container that was idle for too long expires permanently;"),
    (NotesNoUse, "Using or holding a container extends its expiry;"),
    (RecordsEveryRead, "Using or holding a container extends its expiry;"),
]


@pytest.mark.parametrize(("kind", "promise"), BROKEN, ids=[kind.__name__ for kind, _ in BROKEN])
async def test_a_broken_promise_is_named(
    kind: type[SqliteStore], promise: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = [one for one in check.PROMISES if str(one.__doc__).startswith(promise)]
    monkeypatch.setattr(check, "PROMISES", alone)
    assert [line for line in await verdict(kind, tmp_path) if line.startswith(promise)] != []
