"""Stored chat completions, as the gateway offers them."""

from collections.abc import Mapping

from antiphon.gateway.made import JsonObject, Made
from antiphon.protocol.resources import CompletionMessagesQuery, CompletionsQuery
from antiphon.recording.completion_recorder import CompletionParts, CompletionRecorder
from antiphon.stored import chat_completions
from antiphon.stored.parts import ObjectParts


class ChatCompletions:
    """Stored chat completions as methods."""

    def __init__(self, parts: ObjectParts, completions: CompletionParts) -> None:
        self._parts, self._completions = parts, completions

    async def record(
        self, request: JsonObject, tenant: str, size: int, *, is_large: bool = False
    ) -> CompletionRecorder:
        """Return the recorder for the response to a request of `size` bytes. Raises `ClientError` (429): quota."""
        reservation = await self._parts.quota.reserve(tenant, size)
        return CompletionRecorder(self._completions, request, tenant, reservation, is_large=is_large)

    def list(self, tenant: str, query: CompletionsQuery) -> Made:
        """Return a page of the completions."""
        return chat_completions.list_completions(self._parts, tenant, query)

    def retrieve(self, tenant: str, completion_id: str) -> Made:
        """Return a completion."""
        return chat_completions.retrieve(self._parts, tenant, completion_id)

    def update(self, tenant: str, completion_id: str, metadata: Mapping[str, str] | None) -> Made:
        """Replace the metadata of a completion."""
        return chat_completions.update(self._parts, tenant, completion_id, metadata)

    def delete(self, tenant: str, completion_id: str) -> Made:
        """Delete a completion."""
        return chat_completions.delete(self._parts, tenant, completion_id)

    def list_messages(self, tenant: str, completion_id: str, query: CompletionMessagesQuery) -> Made:
        """Return a page of the messages of a completion's request."""
        return chat_completions.list_messages(self._parts, tenant, completion_id, query)
