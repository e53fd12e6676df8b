"""`Idempotency-Key`: the same request again is not done again, it gets the same answer."""

import hashlib
from dataclasses import dataclass

import msgspec

from antiphon.errors import ClientError
from antiphon.protocol.json_pieces import pieces
from antiphon.protocol.json_slices import decode_in_slices
from antiphon.protocol.validation.validate import LARGE
from antiphon.runs.engine import Engine
from antiphon.runs.persistence import RequestIdentity
from antiphon.storage.contract import Reply

LONGEST = 255
"""Characters of a key."""

PATIENCE = 60.0
"""Seconds that a request waits for the one of the same key that is being worked on."""

LOOK_AGAIN = 0.5
"""Seconds after which the key is looked at without having been told."""


_encode = msgspec.json.Encoder(order="sorted").encode


@dataclass(frozen=True, slots=True)
class Log:
    """The answer is the stream of this background response, from its beginning."""

    tenant: str
    response_id: str


def check_key(key: str) -> None:
    """Raise `ClientError` (400) where a key is empty, too long, or not of visible ASCII characters."""
    if not 0 < len(key) <= LONGEST or not (key.isascii() and key.isprintable()):
        raise ClientError(
            f"Invalid 'Idempotency-Key': expected 1 to {LONGEST} visible ASCII characters.",
            code="invalid_idempotency_key",
            param="Idempotency-Key",
        )


async def admit(
    engine: Engine, tenant: str, key: str, path: str, body: bytes, prefix: str
) -> RequestIdentity | Reply | Log:
    """Return the answer that this request was given, or the ticket with which it is to be worked on here.

    Waits for the same request where it is being worked on. Raises `ClientError`: 422 where the key came with another
    request, 409 where the other takes too long (specification of bad inputs: the IETF's draft says both).
    """
    if len(body) <= LARGE:
        fingerprint = _fingerprint(path, body)
    else:
        fingerprint = await engine.offload.run(tenant, _fingerprint_of_large, path, body)
    response_id = engine.new_id(prefix)
    waited = 0.0
    # Known before it is reserved: whoever holds anything has to show that it lives.
    engine.holding.add(response_id)
    try:
        while True:
            found = await engine.store.reserve(tenant, key, fingerprint, response_id, engine.worker)
            if found.fingerprint != fingerprint:
                raise _reused()
            if found.reply is not None:
                engine.holding.discard(response_id)
                return found.reply if found.reply.body else Log(tenant, found.response_id)
            if found.response_id == response_id:
                return RequestIdentity(tenant, response_id, key, size=len(body))
            if waited >= PATIENCE:
                raise _in_progress()
            with engine.wakes.expect(found.response_id) as change:
                if await engine.store.find_key(tenant, key) == found:
                    await change.wait(LOOK_AGAIN)
            waited += LOOK_AGAIN
    except BaseException:
        engine.holding.discard(response_id)
        raise


def _fingerprint(path: str, body: bytes) -> bytes:
    """Tell a request from another: the order of keys and the blanks between them make none."""
    value = msgspec.json.encode(msgspec.json.decode(body or b"{}"), order="sorted")
    return hashlib.sha256(path.encode() + b"\0" + value).digest()


def _fingerprint_of_large(path: str, body: bytes) -> bytes:
    """Return the same, worked out piece by piece."""
    digest = hashlib.sha256(path.encode() + b"\0")
    for piece in pieces(decode_in_slices(body), _encode, is_sorted=True):
        digest.update(piece)
    return digest.digest()


def _reused() -> ClientError:
    return ClientError(
        "This Idempotency-Key was used with another request. Use a new key for a new request.",
        status=422,
        code="idempotency_key_reused",
        param="Idempotency-Key",
    )


def _in_progress() -> ClientError:
    return ClientError(
        "A request with this Idempotency-Key is being worked on. Try again in a few seconds.",
        status=409,
        code="idempotency_in_progress",
        param="Idempotency-Key",
        headers={"retry-after": "5"},
    )
