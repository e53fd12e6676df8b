"""The memory of this process for clients, shared between tenants: bodies, messages, histories,
large replies.

Data needs more memory than its bytes while a response is generated: as bytes, as values, as
messages, and as the request to a backend. `weight` estimates how much. Measured as growth of the
resident set for each byte, of histories and of bodies alike: 3.1 at most while one is loaded and 2
afterwards (54 MB in items of 1 MB or of 3 kB); 8.2 if each text has one wide character, which makes
Python use four bytes for all the others; 1.2 to 1.6 kB for each item with almost no text.
"""

import asyncio
import math

from antiphon.errors import AntiphonError, ClientError
from antiphon.sharing.scheduler import SHARE

MEBIBYTE = 1024 * 1024

LARGE = 64 * 1024
"""Bytes above which more than the bytes themselves is counted."""

PER_BYTE = 3
"""Bytes of memory for each byte of a body or of a history."""

PER_WIDE_BYTE = 5
"""Additional bytes in a text that is not ASCII."""

PER_ITEM = 2048
"""Additional bytes of memory for an item, or for a part of its content."""

POLL_INTERVAL = 0.1
"""Seconds between two checks of patient work. Waking it would cost each release, and most release
little.
"""


def weight(size: int, items: int = 0, wide: int = 0) -> int:
    """Return the bytes of memory for data of this many bytes and items; `wide` bytes of it may not
    be ASCII.
    """
    return PER_BYTE * size + PER_WIDE_BYTE * wide + PER_ITEM * items


def weight_of_json(body: bytes) -> int:
    """Return the same for JSON that is not decoded yet, with an unknown number of items."""
    return weight(len(body), wide=len(body) if may_be_wide(body) else 0)


def may_be_wide(body: bytes) -> bool:
    """Whether texts of this JSON may not be ASCII."""
    return not body.isascii() or b"\\u" in body


class Memory:
    """The bytes of all requests and connections together.

    A tenant holds at most `SHARE` times the free bytes, so that some remain for the next tenant,
    but can always hold `least` bytes. Without API keys there is one tenant, "", which can hold all
    of it.
    """

    def __init__(self, size: int = 512 * MEBIBYTE, least: int = 0) -> None:
        self.size = self.left = size
        self._least = least
        self._retained: dict[str, int] = {}

    def take(self, size: int, tenant: str = "") -> None:
        """Reserve `size` more bytes.

        Raises `AntiphonError` (503) if they are not free now, and `ClientError` (413) if they never
        will be.
        """
        if size > self.left:
            raise self._refusal(size, tenant)
        if tenant and size:
            retained = self._retained.get(tenant, 0) + size
            if retained > max(self._least, SHARE * (self.left - size)):
                raise self._refusal(size, tenant)
            self._retained[tenant] = retained
        self.left -= size

    async def wait_for(self, size: int, tenant: str = "") -> None:
        """Reserve `size` more bytes as soon as they are free.

        Raises `ClientError` (413) if they never will be.
        """
        while True:
            try:
                return self.take(size, tenant)
            except ClientError:
                raise
            except AntiphonError:
                await asyncio.sleep(POLL_INTERVAL)

    def release(self, size: int, tenant: str = "") -> None:
        """Release `size` bytes."""
        self.left += size
        if tenant and size:
            self._retained[tenant] -= size
            if not self._retained[tenant]:
                del self._retained[tenant]

    def most(self, tenant: str = "") -> int:
        """Return the bytes that a tenant can hold if no other tenant holds any."""
        share = int(self.size * SHARE / (1 + SHARE)) if tenant else self.size
        return min(self.size, max(self._least, share))

    def _refusal(self, size: int, tenant: str) -> AntiphonError:
        most = self.most(tenant)
        if size > most:
            return ClientError(
                f"This request needs about {size // MEBIBYTE + 1} MiB of memory with its history, "
                f"and this server allows {most // MEBIBYTE} MiB. Send less, or start a new chain.",
                status=413,
                code="request_too_large",
            )
        return AntiphonError.overloaded(
            "The requests in progress use all the memory that this server allows for them. Please "
            "try again later."
        )


class Account:
    """The bytes of one connection or of one response, at most `most`; all of them are part of a
    process's memory.

    A patient account waits for bytes that are not free now.
    """

    __slots__ = ("_is_patient", "_memory", "_most", "_tenant", "retained")

    def __init__(
        self, memory: Memory, tenant: str, most: float = math.inf, *, is_patient: bool = False
    ) -> None:
        self._memory = memory
        self._tenant = tenant
        self._most = most
        self._is_patient = is_patient
        self.retained = 0

    @property
    def is_patient(self) -> bool:
        """Whether it waits for memory: no client waits for its response, which can come later."""
        return self._is_patient

    def take(self, size: int) -> None:
        """Reserve `size` more bytes.

        Raises `ClientError` (429) above the connection's limit, else as `Memory`.
        """
        if self.retained + size > self._most:
            raise ClientError(
                "Too many bytes are waiting on this WebSocket connection. Send more after a "
                "response has ended.",
                status=429,
                type="requests",
                code="too_many_requests",
            )
        self._memory.take(size, self._tenant)
        self.retained += size

    async def obtain(self, size: int) -> None:
        """Reserve `size` more bytes, waiting for them if patient. Raises as `Memory`.

        While it waits it holds nothing: two that wait for each other's bytes would deadlock.
        """
        if not self._is_patient:
            self.take(size)
            return
        size += self.retained
        self.close()
        await self._memory.wait_for(size, self._tenant)
        self.retained = size

    def release(self, size: int) -> None:
        """Release `size` bytes."""
        self.retained -= size
        self._memory.release(size, self._tenant)

    def close(self) -> None:
        """Release everything: the connection or the response has ended."""
        if self.retained:
            self.release(self.retained)

    def __del__(self) -> None:
        """A response that was prepared and never begun has no other end."""
        self.close()
