"""Stored chat completions: record, list, retrieve, update and delete them, and list the messages of
their requests.
"""

from collections.abc import Mapping, Sequence

import msgspec

from antiphon.objects.large import Capacity, built_object, size_of
from antiphon.objects.pages import LONGEST_ID, JsonObject, not_found, page_of, unknown_bound
from antiphon.protocol.json_slices import decoded
from antiphon.protocol.resources import CompletionMessagesQuery, CompletionsQuery
from antiphon.recording.completion_recorder import CompletionParts, CompletionRecorder
from antiphon.recording.quota import StorageQuota
from antiphon.storage.operations import chat_completions, pages
from antiphon.storage.records.chat_completions import CompletionQuery, StoredCompletion
from antiphon.storage.records.responses import PageQuery, StoredItem

WHAT = "Chat completion"
"""How an error names an object of this kind."""


class ChatCompletions:
    """The stored chat completions of all tenants.

    `parts` are what a recorder of a completion needs.
    """

    def __init__(self, parts: CompletionParts, capacity: Capacity, quota: StorageQuota) -> None:
        self._parts = parts
        self._store = parts.store
        self._capacity = capacity
        self._quota = quota

    async def record(self, request: JsonObject, tenant: str, size: int) -> CompletionRecorder:
        """Return the recorder for the response to a request of `size` bytes.

        Raises `ClientError` (429): quota.
        """
        reservation = await self._quota.reserve(tenant, size)
        return CompletionRecorder(self._parts, request, size, tenant, reservation)

    async def list(self, tenant: str, query: CompletionsQuery) -> JsonObject:
        """Return a page of the tenant's completions.

        Raises `ClientError` (400) if `after` is not in the list.
        """
        wanted = CompletionQuery(
            query.limit, query.after, query.order == "desc", query.model, query.metadata or {}
        )
        page = await self._store.read(chat_completions.page, tenant, wanted)
        if page.unknown:
            raise unknown_bound("after", str(query.after)[:LONGEST_ID], "stored chat completion")
        size = sum(len(one.body) for one in page.data)
        return await built_object(
            self._capacity, tenant, size, _completions, page.data, page.has_more
        )

    async def retrieve(self, tenant: str, completion_id: str) -> JsonObject:
        """Return a completion. Raises `ClientError` (404) if it is unknown."""
        found = await self._store.read(chat_completions.load, tenant, completion_id)
        return await self._show(tenant, completion_id, found)

    async def update(
        self, tenant: str, completion_id: str, metadata: Mapping[str, str] | None
    ) -> JsonObject:
        """Replace a completion's metadata; return the completion.

        Raises `ClientError` (404) if it is unknown.
        """
        body = msgspec.json.encode(metadata or {})
        changed = await self._store.write(chat_completions.update, tenant, completion_id, body)
        return await self._show(tenant, completion_id, changed)

    async def delete(self, tenant: str, completion_id: str) -> JsonObject:
        """Delete a completion. Raises `ClientError` (404) if it is unknown."""
        if not await self._store.write(chat_completions.delete, tenant, completion_id):
            raise not_found(WHAT, completion_id)
        return {"object": "chat.completion.deleted", "id": completion_id, "deleted": True}

    async def list_messages(
        self, tenant: str, completion_id: str, query: CompletionMessagesQuery
    ) -> JsonObject:
        """Return a page of the messages of a completion's request.

        Raises `ClientError`: 404 if the completion is unknown, 400 if `after` is not one of its
        messages.
        """
        wanted = PageQuery(query.limit, query.after, descending=query.order == "desc")
        page = await self._store.read(pages.completion_messages, tenant, completion_id, wanted)
        if page is None:
            raise not_found(WHAT, completion_id)
        if page.unknown:
            raise unknown_bound("after", str(query.after)[:LONGEST_ID], "message")
        return await built_object(
            self._capacity, tenant, size_of(page.data), _messages, page.data, page.has_more
        )

    async def _show(
        self, tenant: str, completion_id: str, found: StoredCompletion | None
    ) -> JsonObject:
        if found is None:
            raise not_found(WHAT, completion_id)
        return await built_object(self._capacity, tenant, len(found.body), _completion, found)


def _completion(completion: StoredCompletion) -> JsonObject:
    return {**decoded(completion.body), "metadata": msgspec.json.decode(completion.metadata)}


def _completions(completions: Sequence[StoredCompletion], has_more: bool) -> JsonObject:
    return page_of([_completion(one) for one in completions], has_more=has_more)


def _messages(items: Sequence[StoredItem], has_more: bool) -> JsonObject:
    return page_of([_message(item) for item in items], has_more=has_more)


def _message(item: StoredItem) -> JsonObject:
    """Return a message in the form of OpenAI's list, in which a list of content parts has a
    separate field.
    """
    message = {
        "id": item.id,
        "role": None,
        "content": None,
        "name": None,
        **decoded(item.body),
        "content_parts": None,
    }
    if isinstance(message["content"], list):
        message["content"], message["content_parts"] = None, message["content"]
    return {**message, "id": item.id}
