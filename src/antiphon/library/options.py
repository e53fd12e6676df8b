"""Options of a call besides the parameters of the API: its time limit and additional headers."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Self

from antiphon.errors import APITimeoutError
from antiphon.library.parameters import OPTION_NAMES

OF_THE_TRANSFER = frozenset(
    {
        "authorization",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "host",
        "transfer-encoding",
    }
)
"""Headers of the transfer and of the caller: a call inside a program cannot choose them."""


POLL_MS = 250
"""Milliseconds between two looks at what is being ingested, unless the call names others."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a call: names of headers in lower case, and seconds; None is no limit."""

    headers: Mapping[str, str]
    timeout: float | None = None

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Self:
        """Return the options among the parameters of a call.

        Raises `TypeError`, `ValueError` for invalid ones.
        """
        if OPTION_NAMES.isdisjoint(parameters):
            return cls({})
        return cls(_headers(parameters.get("extra_headers")), _seconds(parameters.get("timeout")))


@asynccontextmanager
async def limited(seconds: float | None) -> AsyncGenerator[None, None]:
    """End the work inside after a time. Raises `APITimeoutError` then."""
    if seconds is None:
        yield
        return
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            yield
    except TimeoutError:
        if not limit.expired():
            raise
        raise APITimeoutError(seconds) from None


def pause_of(interval_ms: object) -> float:
    """Return the seconds between two looks, from `poll_interval_ms`; None means `POLL_MS`.

    Raises as `Options.of`.

    A pause of nothing would ask without end, as fast as the processor allows.
    """
    if interval_ms is None:
        return POLL_MS / 1000
    return _positive("poll_interval_ms", interval_ms, "milliseconds", "the default") / 1000


def _headers(provided: object) -> dict[str, str]:
    if provided is None:
        return {}
    if not isinstance(provided, Mapping):
        raise TypeError(
            f"`extra_headers` is a {type(provided).__name__}. Pass a dictionary of texts."
        )
    for name, value in provided.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(
                f"The header {name!r} in `extra_headers` is not a text with a text as its value."
            )
        if not name.isascii() or any(mark in f"{name}{value}" for mark in "\r\n\0"):
            raise ValueError(
                f"The header {name!r} in `extra_headers` has characters that no header can have."
            )
        if name.lower() in OF_THE_TRANSFER:
            raise ValueError(
                f"The header {name!r} in `extra_headers` has no effect inside a program. Remove it."
            )
    return {name.lower(): value for name, value in provided.items()}


def _seconds(value: object) -> float | None:
    return None if value is None else _positive("timeout", value, "seconds", "no limit")


def _positive(name: str, value: object, unit: str, otherwise: str) -> float:
    """Return a number above 0.

    Raises `TypeError` and `ValueError`, which name the argument and what None means.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(
            f"`{name}` is a {type(value).__name__}. Pass {unit} as a number, "
            f"or None for {otherwise}."
        )
    if not value > 0:
        raise ValueError(
            f"`{name}` is {value}. Pass a positive number of {unit}, or None for {otherwise}."
        )
    return float(value)
