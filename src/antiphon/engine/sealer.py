"""Whose the state is that was sealed: what a backend encrypts, no other one opens, though it be of the same family."""

from hashlib import sha256

from antiphon.engine.routing.backend_state import Target


def sealer_of(target: Target) -> str:
    """Return what tells this backend from every other one, also later and in another process."""
    return sha256(f"{target.backend.name}\0{target.backend.url}".encode()).hexdigest()[:16]


def mark_of(target: Target) -> dict[str, str]:
    """Return what is sealed along with the state that an answer of this backend leaves."""
    return {"family": target.dialect.name, "origin": sealer_of(target)}
