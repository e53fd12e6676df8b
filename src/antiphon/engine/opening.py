"""What a client kept for us and brings back, opened, or dropped where that cannot be (lesson L37)."""

from typing import Any

from antiphon.access.keyring import Keyring
from antiphon.errors import ClientError, log
from antiphon.translation.to_chat.sealed import Unseal


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
