"""New ids, names of tenants, and the clock. The caller passes ids and times in, so a trace can be
exact.
"""

import os
import string
import time
from collections.abc import Callable

NewId = Callable[[str], str]
"""Accepts a prefix such as `msg`, returns an id such as `msg_1f…`."""

Clock = Callable[[], float]
"""Seconds since the epoch."""


def new_id(prefix: str) -> str:
    """Return `prefix_`, 48 bits of the time in milliseconds and 144 random bits, in hexadecimal.

    An id cannot be guessed, and consecutive ids are adjacent in a database index, which halves the
    work of the index. Random bytes are read from the kernel in batches: the call costs more than
    the bytes.
    """
    try:
        random = _pool.pop()  # atomic, so no other thread pops the same bytes
    except IndexError:
        block = os.urandom(_SIZE * _BLOCK).hex()
        random, *more = [block[i : i + 2 * _SIZE] for i in range(0, len(block), 2 * _SIZE)]
        _pool.extend(more)
    return f"{prefix}_{int(time.time() * 1000):012x}{random}"


def response_id_of(request_id: str) -> str:
    """Return the id of the response that the request `req_…` creates.

    It has the same digits, so the response of an `x-request-id` is found without another index.
    """
    return f"resp_{request_id.removeprefix('req_')}"


def request_id_of(response_id: str) -> str:
    """Return the id of the request that created a response with this id: see `response_id_of`."""
    return f"req_{response_id.removeprefix('resp_')}"


def new_file_id() -> str:
    """Return `file-` and 22 characters of base62, which hold 128 random bits: clients know this
    format.
    """
    number = int.from_bytes(os.urandom(16))
    text = ""
    for _ in range(22):
        number, digit = divmod(number, 62)
        text += _BASE62[digit]
    return f"file-{text}"


TENANT_RULE = (
    "A tenant's name has 1 to 200 visible characters and does not begin or end with a space."
)


def is_tenant_name(name: object) -> bool:
    """Whether this can be a tenant's name: two names that look alike to an operator must not be two
    tenants.
    """
    return (
        isinstance(name, str)
        and 0 < len(name) <= 200
        and name.isprintable()
        and name == name.strip()
    )


now: Clock = time.time

_BASE62 = string.ascii_letters + string.digits

_SIZE = 18
"""Random bytes of an id."""

_BLOCK = 64
"""Ids for which random bytes are read at once."""

_pool: list[str] = []
"""Random bytes, in hexadecimal, that no id uses yet."""
