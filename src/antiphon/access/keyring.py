"""State that a client keeps for us without reading it: `encrypted_content` of reasoning and compaction items.

A blob is `ar2.<key id>.<base64url of nonce and AES-256-GCM ciphertext>`; version and tenant are authenticated with it.
The first key seals, all of them open: to rotate, put a new key in front, and take the old one away a month later.
"""

import base64
import binascii
import hashlib
import os
from collections.abc import Sequence
from typing import Any

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from antiphon.errors import ConfigError

VERSION = "ar2"
NONCE = 12
"""Bytes; random, which is safe for 2^32 blobs of one key."""


class Keyring:
    """Seals and opens. `keys` are of 32 bytes each; without any, a key is made that ends with this process."""

    def __init__(self, keys: Sequence[bytes] = ()) -> None:
        keys = keys or [new_key()]
        self._ciphers = {_key_id(key): AESGCM(key) for key in keys}
        self._newest = _key_id(keys[0])

    def seal(self, state: dict[str, Any], tenant: str) -> str:
        """Return state (JSON values) as opaque text that only this tenant can bring back."""
        nonce = os.urandom(NONCE)
        plain = msgspec.json.encode(state)
        sealed = nonce + self._ciphers[self._newest].encrypt(nonce, plain, _about(tenant))
        return f"{VERSION}.{self._newest}.{base64.urlsafe_b64encode(sealed).decode().rstrip('=')}"

    def unseal(self, blob: str, tenant: str) -> dict[str, Any] | None:
        """Return the state inside, None where it was not sealed for this tenant with a key that is known here."""
        version, _, rest = blob.partition(".")
        key_id, _, body = rest.partition(".")
        cipher = self._ciphers.get(key_id)
        if version != VERSION or cipher is None:
            return None
        try:
            raw = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
            plain = cipher.decrypt(raw[:NONCE], raw[NONCE:], _about(tenant))
            return msgspec.json.decode(plain, type=dict[str, Any])
        except (binascii.Error, ValueError, InvalidTag, RecursionError):
            return None


def new_key() -> bytes:
    """Return a key that nobody has."""
    return AESGCM.generate_key(bit_length=256)


def read_key(text: str) -> bytes:
    """Return a key written in base64. Raises `ConfigError`, without showing it, unless it is of 32 bytes."""
    try:
        key = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != 32:
        raise ConfigError(
            "A key in `seal_keys` is not 32 bytes in base64. Make one with: head -c 32 /dev/urandom | base64"
        )
    return key


def _key_id(key: bytes) -> str:
    return hashlib.sha256(b"antiphon key id" + key).hexdigest()[:8]


def _about(tenant: str) -> bytes:
    return f"{VERSION}\0{tenant}".encode()
