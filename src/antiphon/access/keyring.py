"""State that a client stores for the server without reading it: `encrypted_content` of reasoning
and compaction items.

A blob is `ar1.<key id>.<base64url of nonce and AES-256-GCM ciphertext>`; version and tenant are
authenticated with it. The first key seals, all keys open: to rotate, add a new key at the front,
and remove the old key a month later.
"""

import base64
import binascii
import hashlib
import hmac
import os
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from antiphon.errors import ConfigError
from antiphon.packages import load_module

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

CIPHERS = "cryptography.hazmat.primitives.ciphers.aead"
"""The module that encrypts."""

VERSION = "ar1"
NONCE = 12
"""Bytes; random, which is safe for 2^32 blobs of one key."""

KEY = 32
"""Bytes."""

_PADDING = ("", "===", "==", "=")
"""The padding that is omitted at the end, by the length modulo 4."""

_decode = msgspec.json.Decoder(dict[str, Any]).decode


class Keyring:
    """Seals and opens. `keys` have 32 bytes each; without keys, a temporary key of this process is
    used.
    """

    def __init__(self, keys: Sequence[bytes] = ()) -> None:
        self._keys = {_key_id(key): key for key in keys or [new_key()]}
        self._newest = next(iter(self._keys))

    @cached_property
    def _ciphers(self) -> "dict[str, AESGCM]":
        aead = load_module(CIPHERS)  # at first use: OpenSSL takes 5 MB that few servers need
        return {key_id: aead.AESGCM(key) for key_id, key in self._keys.items()}

    def seal(self, state: dict[str, Any], tenant: str) -> str:
        """Return state (JSON values) as opaque text that only this tenant can open."""
        nonce = os.urandom(NONCE)
        plain = msgspec.json.encode(state)
        sealed = nonce + self._ciphers[self._newest].encrypt(nonce, plain, _about(tenant))
        return f"{VERSION}.{self._newest}.{base64.urlsafe_b64encode(sealed).decode().rstrip('=')}"

    def unseal(self, blob: str, tenant: str) -> dict[str, Any] | None:
        """Return the state inside, or None if it was not sealed for this tenant with one of the
        keys.
        """
        version, _, rest = blob.partition(".")
        key_id, _, body = rest.partition(".")
        if version != VERSION or key_id not in self._keys:
            return None
        try:
            text = body.replace("-", "+").replace("_", "/") + _PADDING[len(body) % 4]
            raw = msgspec.convert(text, bytes)  # twice as fast as `binascii`, and as strict
            return _decode(self._ciphers[key_id].decrypt(raw[:NONCE], raw[NONCE:], _about(tenant)))
        except (ValueError, RecursionError, load_module("cryptography.exceptions").InvalidTag):
            return None

    def token(self, tenant: str, text: str) -> str:
        """Return 16 characters for a text: always the same, and impossible to guess without the
        newest key.
        """
        about = f"token\0{tenant}\0{text}".encode("utf-8", "surrogatepass")
        return hmac.digest(self._keys[self._newest], about, "sha256").hex()[:16]


def new_key() -> bytes:
    """Return a new random key."""
    return os.urandom(KEY)


def read_key(text: str) -> bytes:
    """Return a key written in base64.

    Raises `ConfigError`, without showing it, unless it has 32 bytes.
    """
    try:
        key = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY:
        raise ConfigError(
            "A key in `seal_keys` is not 32 bytes in base64. Make one with: head -c 32 "
            "/dev/urandom | base64"
        )
    return key


def _key_id(key: bytes) -> str:
    return hashlib.sha256(b"antiphon key id" + key).hexdigest()[:8]


@lru_cache(maxsize=256)
def _about(tenant: str) -> bytes:
    return f"{VERSION}\0{tenant}".encode()
