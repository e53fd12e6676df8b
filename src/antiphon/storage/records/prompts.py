"""Prompts as plain values."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StoredPrompt:
    """One version of a prompt. A version never changes; the prompt has one default version."""

    id: str
    tenant: str
    version: int
    """The number of the version: 1 for the first, then 2, 3, …"""
    is_default: bool
    created_at: int
    """When the version was created."""
    template: bytes
    """The version as JSON (`antiphon.protocol.prompts.PromptTemplate`)."""


@dataclass(frozen=True, slots=True)
class PromptQuery:
    """Which prompts, or versions of one, to list: at most `limit`, in the order of creation."""

    limit: int
    after: str | None = None
    """The id of a prompt, or the number of a version in decimal, beside which the part begins."""
    descending: bool = True


@dataclass(frozen=True, slots=True)
class PromptPage:
    """A part of a list. `is_unknown` where `after` names none."""

    prompts: tuple[StoredPrompt, ...] = ()
    has_more: bool = False
    is_unknown: bool = False
