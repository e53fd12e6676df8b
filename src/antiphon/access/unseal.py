"""Opens state that a client stores for this server: which backend sealed it, and what is dropped
(lesson L37).
"""

from hashlib import sha256
from typing import Any

from msgspec import Struct

from antiphon.access.keyring import Keyring
from antiphon.errors import ClientError, log
from antiphon.upstream.backend_state import ModelTarget

_OMITTED = """\
Omitted an `encrypted_content`, or a signature in the id of a call: it was changed, or is from another tenant or \
server. If another server encrypted it, add that server's key to `seal_keys`."""  # noqa: E501 - the lines of a text

_UNREADABLE: dict[str, Any] = {}
"""Stands for the state in a blob that cannot be opened."""


def state_origin(target: ModelTarget) -> str:
    """Return a stable identity of this backend, the same in every process."""
    return sha256(f"{target.backend.name}\0{target.backend.url}".encode()).hexdigest()[:16]


def origin_tag(target: ModelTarget) -> dict[str, str]:
    """Return the data that is sealed together with the state of this backend's answer."""
    return {"family": target.dialect.name, "origin": state_origin(target)}


class Unsealer(Struct):
    """Opens a tenant's blobs, each once.

    A blob that cannot be opened (another server's, a key that was removed) is ignored, with one
    line in the log for all of a request; with `refuses`, it raises `ClientError` (400,
    `invalid_encrypted_content`).
    """

    keyring: Keyring
    tenant: str
    refuses: bool
    opened: dict[str, dict[str, Any]] = {}
    """What is known of blobs, before and afterwards: their states, empty where they cannot be
    opened.
    """
    has_warned: bool = False

    def __call__(self, blob: str) -> dict[str, Any]:
        """Return the state in a blob, empty if it cannot be opened."""
        state = self.opened.get(blob)
        if state is None:
            state = self.keyring.unseal(blob, self.tenant)
            state = self.opened[blob] = _UNREADABLE if state is None else state
        if state is not _UNREADABLE:
            return state
        if self.refuses:
            raise _unreadable(blob)
        if not self.has_warned:
            log.warning(_OMITTED)
        self.has_warned = True
        return {}

    def token(self, text: str) -> str:
        """Return a token of this tenant for a text: see `Keyring.token`."""
        return self.keyring.token(self.tenant, text)


def _unreadable(blob: str) -> ClientError:
    return ClientError(
        f"The encrypted content {blob[:4]}... could not be verified. "
        "Reason: Encrypted content could not be decrypted or parsed.",
        code="invalid_encrypted_content",
    )
