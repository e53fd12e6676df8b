"""Stored chat completions: list, retrieve, update and delete them, and list the messages of their requests."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from antiphon.errors import ClientError
from antiphon.protocol.resources import CompletionMessagesQuery, CompletionsQuery
from antiphon.storage.operations import chat_completions, pages
from antiphon.storage.records.chat_completions import CompletionQuery, StoredCompletion
from antiphon.storage.records.responses import PageQuery, StoredItem
from antiphon.stored.large import decoded, shown, size_of
from antiphon.stored.parts import ObjectParts


async def list_completions(parts: ObjectParts, tenant: str, query: CompletionsQuery) -> dict[str, Any]:
    """Return a page of the tenant's completions. Raises `ClientError` (400) if `after` is not in the list."""
    wanted = CompletionQuery(query.limit, query.after, query.order == "desc", query.model, query.metadata or {})
    page = await parts.store.read(chat_completions.page, tenant, wanted)
    if page.is_unknown:
        raise _unknown_after(query, "stored chat completion")
    size = sum(len(one.body) for one in page.completions)
    return await shown(parts, tenant, size, _completions, page.completions, page.has_more)


async def retrieve(parts: ObjectParts, tenant: str, completion_id: str) -> dict[str, Any]:
    """Return a completion. Raises `ClientError` (404) if it is unknown."""
    return await _show(
        parts, tenant, _found(await parts.store.read(chat_completions.load, tenant, completion_id), completion_id)
    )


async def update(
    parts: ObjectParts, tenant: str, completion_id: str, metadata: Mapping[str, str] | None
) -> dict[str, Any]:
    """Replace a completion's metadata; return the completion. Raises `ClientError` (404) if it is unknown."""
    changed = await parts.store.write(
        chat_completions.update, tenant, completion_id, msgspec.json.encode(metadata or {})
    )
    return await _show(parts, tenant, _found(changed, completion_id))


async def delete(parts: ObjectParts, tenant: str, completion_id: str) -> dict[str, Any]:
    """Delete a completion. Raises `ClientError` (404) if it is unknown."""
    if not await parts.store.write(chat_completions.delete, tenant, completion_id):
        raise not_found(completion_id)
    return {"object": "chat.completion.deleted", "id": completion_id, "deleted": True}


async def list_messages(
    parts: ObjectParts, tenant: str, completion_id: str, query: CompletionMessagesQuery
) -> dict[str, Any]:
    """Return a page of the messages of a completion's request.

    Raises `ClientError`: 404 if the completion is unknown, 400 if `after` is not one of its messages.
    """
    wanted = PageQuery(query.limit, query.after, descending=query.order == "desc")
    page = await parts.store.read(pages.completion_messages, tenant, completion_id, wanted)
    if page is None:
        raise not_found(completion_id)
    if page.unknown:
        raise _unknown_after(query, "message")
    return await shown(parts, tenant, size_of(page.items), _messages, page.items, page.has_more)


def not_found(completion_id: str) -> ClientError:
    """Return the error for an unknown completion."""
    return ClientError(f"Chat completion with id '{completion_id[:100]}' not found.", status=404)


def _unknown_after(query: CompletionMessagesQuery, what: str) -> ClientError:
    named = str(query.after)[:100]
    return ClientError(f"Invalid 'after': no {what} with id '{named}'.", code="invalid_value", param="after")


def _found(completion: StoredCompletion | None, completion_id: str) -> StoredCompletion:
    if completion is None:
        raise not_found(completion_id)
    return completion


async def _show(parts: ObjectParts, tenant: str, completion: StoredCompletion) -> dict[str, Any]:
    return await shown(parts, tenant, len(completion.body), _completion, completion)


def _completion(completion: StoredCompletion) -> dict[str, Any]:
    return {**decoded(completion.body), "metadata": msgspec.json.decode(completion.metadata)}


def _completions(completions: Sequence[StoredCompletion], has_more: bool) -> dict[str, Any]:
    return _list([_completion(one) for one in completions], has_more)


def _messages(items: Sequence[StoredItem], has_more: bool) -> dict[str, Any]:
    return _list([_message(item) for item in items], has_more)


def _message(item: StoredItem) -> dict[str, Any]:
    """Return a message in the form of OpenAI's list, in which a list of content parts has a separate field."""
    message = {"id": item.id, "role": None, "content": None, "name": None, **decoded(item.body), "content_parts": None}
    if isinstance(message["content"], list):
        message["content"], message["content_parts"] = None, message["content"]
    return {**message, "id": item.id}


def _list(data: list[dict[str, Any]], has_more: bool) -> dict[str, Any]:
    first, last = (data[0]["id"], data[-1]["id"]) if data else (None, None)
    return {"object": "list", "data": data, "first_id": first, "last_id": last, "has_more": has_more}
