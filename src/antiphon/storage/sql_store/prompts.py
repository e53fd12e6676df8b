"""Prompt methods of the SQL stores."""

from antiphon.storage.operations import prompts
from antiphon.storage.records.prompts import PromptPage, PromptQuery, StoredPrompt
from antiphon.storage.sql_store.performer import Performer


class SqlPrompts(Performer):
    """See `Prompts`."""

    async def create_prompt(
        self, tenant: str, prompt_id: str, template: bytes, created_at: int, most: int
    ) -> StoredPrompt | None:
        """See `Store.create_prompt`."""
        created_at += int(self._shift)
        return await self._write(lambda: prompts.create(tenant, prompt_id, template, created_at, most), tenant)

    async def add_prompt_version(
        self, tenant: str, prompt_id: str, template: bytes, created_at: int, most: int, *, is_default: bool
    ) -> StoredPrompt | None:
        """See `Store.add_prompt_version`."""
        created_at += int(self._shift)
        return await self._write(
            lambda: prompts.add_version(tenant, prompt_id, template, created_at, most, is_default=is_default), tenant
        )

    async def find_prompt(self, tenant: str, prompt_id: str, version: int | None = None) -> StoredPrompt | None:
        """See `Store.find_prompt`."""
        return await self._read(lambda: prompts.find(tenant, prompt_id, version), tenant)

    async def prompt_page(self, tenant: str, query: PromptQuery) -> PromptPage:
        """See `Store.prompt_page`."""
        return await self._read(lambda: prompts.page(tenant, query), tenant)

    async def prompt_versions(self, tenant: str, prompt_id: str, query: PromptQuery) -> PromptPage | None:
        """See `Store.prompt_versions`."""
        return await self._read(lambda: prompts.versions(tenant, prompt_id, query), tenant)

    async def set_default_version(self, tenant: str, prompt_id: str, version: int) -> StoredPrompt | None:
        """See `Store.set_default_version`."""
        return await self._write(lambda: prompts.set_default(tenant, prompt_id, version), tenant)

    async def delete_prompt(self, tenant: str, prompt_id: str) -> bool:
        """See `Store.delete_prompt`."""
        return await self._free(lambda: prompts.delete(tenant, prompt_id), tenant)
