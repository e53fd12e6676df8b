"""Methods of the SQL stores for findings about models."""

from dataclasses import replace

from antiphon.storage.operations import profiles
from antiphon.storage.records import StoredProfile
from antiphon.storage.sql_store.performer import Performer


class SqlProfiles(Performer):
    """See `Profiles`."""

    async def put_profile(self, profile: StoredProfile) -> None:
        """See `Store.put_profile`."""
        profile = replace(profile, probed_at=profile.probed_at + int(self._shift))
        await self._write(lambda: profiles.put(profile))

    async def profiles(self) -> list[StoredProfile]:
        """See `Store.profiles`."""
        return await self._read(profiles.every)

    async def delete_profile(self, place: str, model: str) -> bool:
        """See `Store.delete_profile`."""
        return await self._free(lambda: profiles.delete(place, model))
