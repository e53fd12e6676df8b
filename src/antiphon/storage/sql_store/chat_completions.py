"""Chat completion methods of the SQL stores."""

from dataclasses import replace

from antiphon.storage.operations import chat_completions, pages
from antiphon.storage.records import CompletionPage, CompletionQuery, ItemPage, PageQuery, StoredCompletion
from antiphon.storage.sql_store.performer import Performer


class SqlChatCompletions(Performer):
    """See `ChatCompletions`."""

    async def save_completion(self, completion: StoredCompletion) -> None:
        """See `Store.save_completion`."""
        dated = replace(completion, expires_at=completion.expires_at + int(self._shift))
        await self._write(lambda: chat_completions.save(dated), dated.tenant)

    async def load_completion(self, tenant: str, completion_id: str) -> StoredCompletion | None:
        """See `Store.load_completion`."""
        return await self._read(lambda: chat_completions.load(tenant, completion_id, self._now()), tenant)

    async def update_completion(self, tenant: str, completion_id: str, metadata: bytes) -> StoredCompletion | None:
        """See `Store.update_completion`."""
        return await self._write(lambda: chat_completions.update(tenant, completion_id, metadata, self._now()), tenant)

    async def delete_completion(self, tenant: str, completion_id: str) -> bool:
        """See `Store.delete_completion`."""
        return await self._free(lambda: chat_completions.delete(tenant, completion_id, self._now()), tenant)

    async def completion_page(self, tenant: str, query: CompletionQuery) -> CompletionPage:
        """See `Store.completion_page`."""
        return await self._read(lambda: chat_completions.page(tenant, query, self._now()), tenant)

    async def completion_messages(self, tenant: str, completion_id: str, query: PageQuery) -> ItemPage | None:
        """See `Store.completion_messages`."""
        return await self._read(lambda: pages.completion_messages(tenant, completion_id, self._now(), query), tenant)
