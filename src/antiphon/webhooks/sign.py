"""Signatures of the Standard Webhooks specification, which the official SDK checks."""

import base64
import hashlib
import hmac
from collections.abc import Iterable

PREFIX = "whsec_"


def signature(secrets: Iterable[str], delivery_id: str, timestamp: int, body: bytes) -> str:
    """Return the header `webhook-signature`: one signature for each secret that is in force."""
    signed = f"{delivery_id}.{timestamp}.".encode() + body
    return " ".join("v1," + _mac(secret, signed) for secret in secrets)


def new_secret(random: bytes) -> str:
    """Return a secret of random bytes."""
    return PREFIX + base64.b64encode(random).decode()


def hint(secret: str) -> str:
    """Return the part of a secret that can be shown."""
    return f"{PREFIX}...{secret[-4:]}"


def _mac(secret: str, signed: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
