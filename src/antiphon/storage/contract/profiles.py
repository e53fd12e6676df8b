"""The part of the contract that keeps what probes found about models. It belongs to the server, and to no tenant."""

from typing import Protocol

from antiphon.storage.records import StoredProfile


class Profiles(Protocol):
    """What was found about models."""

    async def put_profile(self, profile: StoredProfile) -> None:
        """Keep a profile in place of the one that is known of the same model at the same place."""
        ...

    async def profiles(self) -> list[StoredProfile]:
        """Return every profile, by place and model."""
        ...

    async def delete_profile(self, place: str, model: str) -> bool:
        """Forget a profile; False where none is known."""
        ...
