"""The part of the contract that keeps chat completions."""

from typing import Protocol

from antiphon.storage.records import CompletionPage, CompletionQuery, ItemPage, PageQuery, StoredCompletion


class ChatCompletions(Protocol):
    """Chat completions and the messages of their requests. An expired one is unknown to every method."""

    async def save_completion(self, completion: StoredCompletion) -> None:
        """Store a new completion, durable before this returns."""
        ...

    async def load_completion(self, tenant: str, completion_id: str) -> StoredCompletion | None:
        """Return the completion without its messages, or None."""
        ...

    async def update_completion(self, tenant: str, completion_id: str, metadata: bytes) -> StoredCompletion | None:
        """Replace the metadata, a JSON object of strings; return the completion without its messages, or None."""
        ...

    async def delete_completion(self, tenant: str, completion_id: str) -> bool:
        """Delete the completion and its messages; False where it is unknown."""
        ...

    async def completion_page(self, tenant: str, query: CompletionQuery) -> CompletionPage:
        """Return a part of the tenant's completions, without their messages."""
        ...

    async def completion_messages(self, tenant: str, completion_id: str, query: PageQuery) -> ItemPage | None:
        """Return a part of a completion's messages; None where the completion is unknown.

        The id of a message is the completion's id, `-`, and the message's index in the request.
        """
        ...
