"""Prompts as plain values."""

from msgspec import Struct


class StoredPrompt(Struct, frozen=True):
    """One version of a prompt. A version never changes. One version is the prompt's default."""

    id: str
    tenant: str
    version: int
    """The number of the version: 1, 2, 3, …"""
    is_default: bool
    created_at: int
    """When the version was created."""
    template: bytes
    """The version as JSON (`antiphon.protocol.prompts.PromptTemplate`)."""
