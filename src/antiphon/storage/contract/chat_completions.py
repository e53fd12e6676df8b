"""The store contract for chat completions."""

from typing import Protocol

from antiphon.storage.records import CompletionPage, CompletionQuery, ItemPage, PageQuery, StoredCompletion


class ChatCompletions(Protocol):
    """Chat completions and the messages of their requests. Every method treats an expired completion as unknown."""

    async def save_completion(self, completion: StoredCompletion) -> None:
        """Store a new completion. It is durable when this returns."""
        ...

    async def load_completion(self, tenant: str, completion_id: str) -> StoredCompletion | None:
        """Return the completion without its messages, or None if it is unknown."""
        ...

    async def update_completion(self, tenant: str, completion_id: str, metadata: bytes) -> StoredCompletion | None:
        """Replace the metadata, a JSON object of strings; return the completion without its messages, or None."""
        ...

    async def delete_completion(self, tenant: str, completion_id: str) -> bool:
        """Delete the completion and its messages; return False if it is unknown."""
        ...

    async def completion_page(self, tenant: str, query: CompletionQuery) -> CompletionPage:
        """Return one page of the tenant's completions, without their messages."""
        ...

    async def completion_messages(self, tenant: str, completion_id: str, query: PageQuery) -> ItemPage | None:
        """Return one page of a completion's messages, or None if the completion is unknown.

        The id of a message is the completion's id, `-`, and the message's index in the request.
        """
        ...
