"""Prompts as plain values."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StoredPrompt:
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


@dataclass(frozen=True, slots=True)
class PromptListQuery:
    """Which prompts, or which versions of a prompt, to list: up to `limit`, in the order of
    creation.
    """

    limit: int
    after: str | None = None
    """The id of the prompt, or the number of the version in decimal, before the page."""
    descending: bool = True


@dataclass(frozen=True, slots=True)
class PromptPage:
    """One page of a list. `is_unknown` means that `after` is not in the list."""

    prompts: tuple[StoredPrompt, ...] = ()
    has_more: bool = False
    is_unknown: bool = False
