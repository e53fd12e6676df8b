"""Saved views of the console: filters that one caller stores under a name, and no other sees."""

from dataclasses import dataclass

from antiphon.errors import ClientError
from antiphon.ids import NewId
from antiphon.objects.pages import JsonObject, not_found
from antiphon.protocol.saved_views import SavedView, SaveView
from antiphon.storage.operations import saved_views
from antiphon.storage.store import Store

MOST = 100
"""Maximum number of views of one owner."""


@dataclass(slots=True)
class SavedViews:
    """The views of one store. An `owner` is the id of an API key, or empty for the operator."""

    store: Store
    new_id: NewId

    async def list(self, owner: str) -> list[SavedView]:
        """Return the views of an owner, by page and name."""
        return await self.store.read(saved_views.of_owner, owner)

    async def save(self, owner: str, request: SaveView) -> SavedView:
        """Store a view, or replace the one with its name. Raises `ClientError` (400) if the owner
        has too many.
        """
        view = await self.store.write(saved_views.save, owner, self.new_id("view"), request, MOST)
        if view is None:
            text = f"You have {MOST} saved views, which is the limit. Delete some of them."
            raise ClientError(text, code="saved_views_limit_reached")
        return view

    async def delete(self, owner: str, view_id: str) -> JsonObject:
        """Delete a view. Raises `ClientError` (404) if the owner has no view with this id."""
        if not await self.store.write(saved_views.delete, owner, view_id):
            raise not_found("Saved view", view_id)
        return {"object": "saved_view", "id": view_id, "deleted": True}
