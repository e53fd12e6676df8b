"""Reasoning state that a client keeps for us without reading it: `encrypted_content` of a reasoning item.

The text says who made it (a version), holds a checksum against truncation and paste errors, and is safe in URLs.
It is opaque, not secret: what is inside came from the client's own backend and goes back to it.
"""

import base64
import binascii
import hashlib
from typing import Any

import msgspec

from antiphon.errors import ClientError

_VERSION = "ar1."
_CHECKSUM_BYTES = 8


def seal(state: dict[str, Any]) -> str:
    """Return `state` (JSON values) as opaque text for `encrypted_content`."""
    payload = msgspec.json.encode(state)
    return _VERSION + base64.urlsafe_b64encode(_checksum(payload) + payload).decode().rstrip("=")


def unseal(blob: str) -> dict[str, Any]:
    """Return the state inside `blob`. Raises `ClientError` (`invalid_encrypted_content`) where it is not ours."""
    if not blob.startswith(_VERSION):
        raise _unreadable(blob)
    body = blob[len(_VERSION) :]
    try:
        raw = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise _unreadable(blob) from None
    checksum, payload = raw[:_CHECKSUM_BYTES], raw[_CHECKSUM_BYTES:]
    if checksum != _checksum(payload):
        raise _unreadable(blob)
    try:
        return msgspec.json.decode(payload, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        raise _unreadable(blob) from None


def _checksum(payload: bytes) -> bytes:
    return hashlib.sha256(payload).digest()[:_CHECKSUM_BYTES]


def _unreadable(blob: str) -> ClientError:
    return ClientError(
        f"The encrypted content {blob[:4]}... could not be verified. "
        "Reason: Encrypted content could not be decrypted or parsed.",
        code="invalid_encrypted_content",
    )
