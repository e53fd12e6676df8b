"""Stored responses: retrieve, list and delete them, and list their input items (specification
sections 1, 10.5).
"""

from collections.abc import Collection

from antiphon.errors import ClientError
from antiphon.ids import Clock
from antiphon.objects.items import ItemViews, page_query
from antiphon.objects.pages import LONGEST_ID, JsonObject, not_found, unknown_bound
from antiphon.objects.response_list import displayed, filters_of, page_object, read_page
from antiphon.protocol.resources import InputItemsQuery, ResponsesQuery
from antiphon.storage.input_pages import input_page
from antiphon.storage.operations import jobs, responses
from antiphon.storage.store import Store


class Responses:
    """The stored responses of all tenants. `now` is the time in seconds since the epoch."""

    def __init__(self, store: Store, views: ItemViews, now: Clock) -> None:
        self._store = store
        self._views = views
        self._now = now

    async def retrieve(
        self, tenant: str, response_id: str, include: Collection[str] = ()
    ) -> JsonObject:
        """Return a response. Raises `ClientError` (404) if it is unknown."""
        stored = await self._store.read(responses.load, tenant, response_id)
        if stored is None:
            raise not_found("Response", response_id)
        return await self._views.response(stored, include)

    async def list(self, tenant: str, query: ResponsesQuery) -> JsonObject:
        """Return a page of the tenant's responses, each as a `response.summary`.

        Raises `ClientError` (400) for an invalid filter, and if `after` or `before` is not a
        response in the list.
        """
        page = await read_page(self._store, tenant, query, filters_of(query.q, self._now()))
        return page_object(page, displayed)

    async def delete(self, tenant: str, response_id: str) -> JsonObject:
        """Delete a response; return the confirmation.

        Raises `ClientError`: 404 if it is unknown, 400 while it runs.
        """
        if await self._store.read(jobs.find_job, tenant, response_id, few=True) is not None:
            raise ClientError("Cannot delete an in-flight response.", param="response_id")
        if not await self._store.write(responses.delete, tenant, response_id):
            raise not_found("Response", response_id)
        return {"id": response_id, "object": "response", "deleted": True}

    async def input_items(
        self, tenant: str, response_id: str, query: InputItemsQuery
    ) -> JsonObject:
        """Return a page of a response's complete input: the items of its chain, then its own input.

        Raises `ClientError`: 404 if the response is unknown, 400 if `after` or `before` is not in
        the list.
        """
        page = await input_page(self._store, tenant, response_id, page_query(query))
        if page is None:
            raise not_found("Response", response_id)
        if page.unknown:
            raise unknown_bound(
                page.unknown, getattr(query, page.unknown)[:LONGEST_ID], "input item"
            )
        return await self._views.page(tenant, page.data, query, has_more=page.has_more)
