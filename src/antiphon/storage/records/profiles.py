"""What is kept of models that were probed."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StoredProfile:
    """What a probe found about one model at one backend."""

    place: str
    """The backend's base URL, or its name where it has none."""
    model: str
    """What the backend calls the model."""
    digest: str
    """The model's digest; empty where the backend states none."""
    body: bytes
    """What was found, as JSON; empty while a server is probing the model."""
    probed_at: int
    """Seconds since the epoch."""
