"""Findings of probes about models."""

from antiphon.storage.operations.step import Operation, ask
from antiphon.storage.records import StoredProfile


def put(profile: StoredProfile) -> Operation[None]:
    """Store or replace a profile."""
    yield from ask("put_profile", profile.place, profile.model, profile.digest, profile.body, profile.probed_at)


def every() -> Operation[list[StoredProfile]]:
    """Return all profiles."""
    rows = yield from ask("profiles")
    return [StoredProfile(place, model, digest, bytes(body), at) for place, model, digest, body, at in rows]


def delete(place: str, model: str) -> Operation[bool]:
    """Delete a profile."""
    return bool((yield from ask("delete_profile", place, model)))
