"""The store contract for prompts: request templates with immutable versions."""

from typing import Protocol

from antiphon.storage.records.prompts import PromptPage, PromptQuery, StoredPrompt


class Prompts(Protocol):
    """Prompts and their versions. Each method raises `StoreError`."""

    async def create_prompt(
        self, tenant: str, prompt_id: str, template: bytes, created_at: int, most: int
    ) -> StoredPrompt | None:
        """Store a new prompt with its version 1, the default; return None if the tenant already has `most` versions."""
        ...

    async def add_prompt_version(
        self, tenant: str, prompt_id: str, template: bytes, created_at: int, most: int, *, is_default: bool
    ) -> StoredPrompt | None:
        """Store the next version of a prompt, and make it the default if `is_default`.

        Return None if the prompt is unknown, or the tenant already has `most` versions.
        """
        ...

    async def find_prompt(self, tenant: str, prompt_id: str, version: int | None = None) -> StoredPrompt | None:
        """Return one version of a prompt, by default its default version, or None if it is unknown."""
        ...

    async def prompt_page(self, tenant: str, query: PromptQuery) -> PromptPage:
        """Return one page of the tenant's prompts, each in its default version."""
        ...

    async def prompt_versions(self, tenant: str, prompt_id: str, query: PromptQuery) -> PromptPage | None:
        """Return one page of the versions of a prompt, or None if it is unknown."""
        ...

    async def set_default_version(self, tenant: str, prompt_id: str, version: int) -> StoredPrompt | None:
        """Make a version the default of its prompt and return it, or None if it is unknown."""
        ...

    async def delete_prompt(self, tenant: str, prompt_id: str) -> bool:
        """Delete a prompt with all its versions; return False if it is unknown."""
        ...
