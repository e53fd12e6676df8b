"""`check_store` names each promise about saved views that a store breaks: the SQLite store, with
one method changed.
"""

from pathlib import Path

import pytest
from msgspec.structs import replace

from antiphon.protocol.saved_views import SavedView, SaveView
from antiphon.storage.records.tenants import ApiKey
from antiphon.storage.sqlite.store import SqliteStore
from tests.integration.store.test_check import verdict
from tests.store import check
from tests.support.changed_stores import ChangedStore


class DeletesEveryonesViews(ChangedStore):
    async def save_view(
        self, owner: str, view_id: str, request: SaveView, most: int
    ) -> SavedView | None:
        owners: dict[str, str] = self.__dict__.setdefault("owners", {})
        saved = await self.original.save_view(owner, view_id, request, most)
        if saved is not None:
            owners[saved.id] = owner
        return saved

    async def delete_view(self, owner: str, view_id: str) -> bool:
        owners: dict[str, str] = self.__dict__.setdefault("owners", {})
        return await self.original.delete_view(owners.get(view_id, owner), view_id)


class KeepsTheFirstView(ChangedStore):
    async def save_view(
        self, owner: str, view_id: str, request: SaveView, most: int
    ) -> SavedView | None:
        known = {(one.page, one.name): one for one in await self.original.saved_views(owner)}
        if (request.page, request.name) in known:
            return known[request.page, request.name]
        return await self.original.save_view(owner, view_id, request, most)


class AdmitsEveryView(ChangedStore):
    async def save_view(
        self, owner: str, view_id: str, request: SaveView, most: int
    ) -> SavedView | None:
        return await self.original.save_view(owner, view_id, request, 10**6)


class KeepsViewsOfRevokedKeys(ChangedStore):
    async def put_api_key(self, key: ApiKey) -> None:
        await self.original.put_api_key(replace(key, revoked_at=None))


BROKEN = [
    (DeletesEveryonesViews, "A view is listed, replaced and deleted by its owner only;"),
    (KeepsTheFirstView, "A view replaces the one of the same page"),
    (AdmitsEveryView, "An owner has a limited number of views,"),
    (KeepsViewsOfRevokedKeys, "A revoked key has no views,"),
]


@pytest.mark.parametrize(("kind", "promise"), BROKEN, ids=[kind.__name__ for kind, _ in BROKEN])
async def test_a_broken_promise_is_named(
    kind: type[SqliteStore], promise: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = [one for one in check.PROMISES if str(one.__doc__).startswith(promise)]
    monkeypatch.setattr(check, "PROMISES", alone)
    assert [line for line in await verdict(kind, tmp_path) if line.startswith(promise)] != []
