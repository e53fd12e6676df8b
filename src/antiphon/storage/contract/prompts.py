"""The part of the contract that keeps prompts: templates of requests, in versions that never change."""

from typing import Protocol

from antiphon.storage.records.prompts import PromptPage, PromptQuery, StoredPrompt


class Prompts(Protocol):
    """Prompts and their versions. Each method raises `StoreError`."""

    async def create_prompt(
        self, tenant: str, prompt_id: str, template: bytes, created_at: int, most: int
    ) -> StoredPrompt | None:
        """Store a new prompt with its version 1, the default; None where the tenant has `most` versions already."""
        ...

    async def add_prompt_version(
        self, tenant: str, prompt_id: str, template: bytes, created_at: int, most: int, *, is_default: bool
    ) -> StoredPrompt | None:
        """Store the next version of a prompt, as its default where `is_default`.

        None where the prompt is unknown, or the tenant has `most` versions already.
        """
        ...

    async def find_prompt(self, tenant: str, prompt_id: str, version: int | None = None) -> StoredPrompt | None:
        """Return a version of a prompt, the default one where none is named; None where it is unknown."""
        ...

    async def prompt_page(self, tenant: str, query: PromptQuery) -> PromptPage:
        """Return a part of the tenant's prompts, each in its default version."""
        ...

    async def prompt_versions(self, tenant: str, prompt_id: str, query: PromptQuery) -> PromptPage | None:
        """Return a part of the versions of a prompt; None where it is unknown."""
        ...

    async def set_default_version(self, tenant: str, prompt_id: str, version: int) -> StoredPrompt | None:
        """Make a version the default of its prompt; return it, or None where it is unknown."""
        ...

    async def delete_prompt(self, tenant: str, prompt_id: str) -> bool:
        """Delete a prompt with all versions; False where it is unknown."""
        ...
