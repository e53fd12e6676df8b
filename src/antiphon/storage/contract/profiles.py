"""The store contract for the findings of model probes. Profiles belong to the server, not to a tenant."""

from typing import Protocol

from antiphon.storage.records import StoredProfile


class Profiles(Protocol):
    """Findings about models."""

    async def put_profile(self, profile: StoredProfile) -> None:
        """Store a profile. It replaces the profile of the same model at the same place."""
        ...

    async def profiles(self) -> list[StoredProfile]:
        """Return all profiles, by place and model."""
        ...

    async def delete_profile(self, place: str, model: str) -> bool:
        """Delete a profile; return False if it is unknown."""
        ...
