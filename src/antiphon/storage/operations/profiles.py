"""Findings of probes about models. Profiles belong to the server, not to a tenant.

Callers pass and receive times of this process's clock; the stored times are of the store's clock.
"""

from antiphon.storage.operations.step import SHIFT, Operation, query_rows, reads, writes
from antiphon.storage.records.profiles import StoredProfile


@writes("put_profile", is_of_all=True)
def put(profile: StoredProfile) -> Operation[None]:
    """Store a profile. It replaces the profile of the same model at the same place."""
    probed_at = profile.probed_at + (yield SHIFT)
    yield from query_rows(
        "put_profile", profile.place, profile.model, profile.digest, profile.body, probed_at
    )


@reads("profiles", is_of_all=True)
def every() -> Operation[list[StoredProfile]]:
    """Return all profiles, by place and model."""
    shift: int = yield SHIFT
    rows = yield from query_rows("profiles")
    return [
        StoredProfile(place, model, digest, bytes(body), at - shift)
        for place, model, digest, body, at in rows
    ]


@writes("delete_profile", is_of_all=True, frees=True)
def delete(place: str, model: str) -> Operation[bool]:
    """Delete a profile; return False if it is unknown."""
    return bool((yield from query_rows("delete_profile", place, model)))
