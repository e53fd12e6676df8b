"""Opens state that a client keeps for this server: which backend sealed it, and what is dropped (lesson L37)."""

from hashlib import sha256
from typing import Any

from antiphon.access.keyring import Keyring
from antiphon.errors import ClientError, log
from antiphon.translation.to_chat.reasoning import Unseal
from antiphon.upstream.backend_state import Target


def state_origin(target: Target) -> str:
    """Return what tells this backend from every other one, also later and in another process."""
    return sha256(f"{target.backend.name}\0{target.backend.url}".encode()).hexdigest()[:16]


def origin_tag(target: Target) -> dict[str, str]:
    """Return what is sealed along with the state that an answer of this backend leaves."""
    return {"family": target.dialect.name, "origin": state_origin(target)}


def opener(keyring: Keyring, tenant: str, *, refuses: bool) -> Unseal:
    """Return what opens a tenant's blobs.

    What cannot be opened (another server's, a key that is gone) is left out with a line in the log; where `refuses`,
    it raises `ClientError` (400, `invalid_encrypted_content`).
    """
    opened: dict[str, dict[str, Any]] = {}

    def unseal(blob: str) -> dict[str, Any]:
        if blob not in opened:
            state = keyring.unseal(blob, tenant)
            if state is None:
                if refuses:
                    raise _unreadable(blob)
                log.warning("An encrypted_content that this server cannot open was left out.")
            opened[blob] = state or {}
        return opened[blob]

    return unseal


def _unreadable(blob: str) -> ClientError:
    return ClientError(
        f"The encrypted content {blob[:4]}... could not be verified. "
        "Reason: Encrypted content could not be decrypted or parsed.",
        code="invalid_encrypted_content",
    )
