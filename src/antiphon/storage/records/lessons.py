"""Stored lessons about models."""

from msgspec import Struct


class StoredLesson(Struct, frozen=True):
    """What a backend's refusals taught about one of its models."""

    place: str
    """The backend's base URL, or its name if it has no URL."""
    model: str
    """The backend's name for the model."""
    tenant: str
    """The tenant that it holds for; empty for everyone."""
    name: str
    """The name of the lesson."""
    stated: str
    """The backend's words."""
    learned_at: int
    """Seconds since the epoch."""
