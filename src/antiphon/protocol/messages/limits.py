"""The limits of a request as headers of the Messages API: `anthropic-ratelimit-requests-limit`."""

import re
from collections.abc import Iterator, Mapping
from math import ceil

from antiphon.protocol.messages.models import rfc3339

_NAME = re.compile(r"x-ratelimit-(limit|remaining|reset)-(requests|tokens)")
_PART = re.compile(r"(\d+)(ms|h|m|s)")
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}


def limit_headers(headers: Mapping[str, str], now: float) -> Iterator[tuple[str, str]]:
    """Yield the headers for those of the Responses API.

    A `reset` is a time here, and a duration such as `1h0m0s` there; `now` is in seconds since the
    epoch.
    """
    for name, value in headers.items():
        if found := _NAME.fullmatch(name):
            is_time = found[1] == "reset"
            stated = rfc3339(ceil(now + _seconds(value))) if is_time else value
            yield f"anthropic-ratelimit-{found[2]}-{found[1]}", stated


def _seconds(duration: str) -> float:
    return sum(int(number) * _SECONDS[unit] for number, unit in _PART.findall(duration))
