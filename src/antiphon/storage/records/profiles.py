"""Stored findings about models."""

from msgspec import Struct


class StoredProfile(Struct, frozen=True):
    """The findings of a probe about one model at one backend."""

    place: str
    """The backend's base URL, or its name if it has no URL."""
    model: str
    """The backend's name for the model."""
    digest: str
    """The model's digest, or empty if the backend reports none."""
    body: bytes
    """The findings as JSON, or empty while a server probes the model."""
    probed_at: int
    """Seconds since the epoch."""
