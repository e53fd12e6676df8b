"""The time to wait before the next attempt: parsed from all spellings of backends, and formatted
for clients.
"""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime

from antiphon.errors import AntiphonError, ClientError

LONGEST_WAIT = 120
"""Seconds: above this the SDKs do not wait (specification section 14)."""

TIME = r"(\d+(?:\.\d+)?)\s*(ms|milli|h|m|s)[a-z]*"
SECONDS = {"ms": 0.001, "milli": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
SPAN = re.compile(TIME, re.IGNORECASE)
SPANS = re.compile(rf"(?:{TIME}\s*)+", re.IGNORECASE)
IN_WORDS = re.compile(rf"(?:try again|retry) (?:in|after)\s+((?:{TIME}\s*)+)", re.IGNORECASE)


def wait_of(
    headers: Mapping[str, str], message: str = "", now: datetime | None = None
) -> float | None:
    """Return the seconds to wait, None if the response contains no readable wait.

    `retry-after-ms`, `retry-after` in seconds, as a span ("1m30s") or as an HTTP date; else
    OpenAI's "Please try again in 1.5s" and Azure's "Please retry after 20 seconds", which are only
    in the message (cases/faults.md, row 6).
    """
    if (milliseconds := _number(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    reported = headers.get("retry-after", "").strip()
    if (seconds := _number(reported)) is not None:
        return seconds
    if SPANS.fullmatch(reported):
        return _span(reported)
    if (moment := _date(reported)) is not None:
        return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())
    words = IN_WORDS.search(message)
    return _span(words[1]) if words else None


def _number(text: str) -> float | None:
    """Return a number that is a valid wait."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < math.inf else None


def _span(text: str) -> float:
    return sum(float(count) * SECONDS[unit] for count, unit in SPAN.findall(text.lower()))


def _date(text: str) -> datetime | None:
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - few backends say it as a date

    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def paused(error: AntiphonError, wait: float) -> AntiphonError:
    """Return the error that paused a backend, for a request that was not sent, with the remaining
    wait.
    """
    seconds = max(1, math.ceil(wait))
    again = ClientError if isinstance(error, ClientError) else type(error)
    message = error.message
    detail = str(error)
    if error.code == "rate_limit_exceeded":
        message = detail = f"Rate limit reached. Please try again in {seconds}s."
    fields = {"status": error.status, "type": error.type, "code": error.code, "param": error.param}
    return again(message, **fields, headers=waits(seconds), gist=error.gist, detail=detail)  # type: ignore[arg-type]


def waits(seconds: float) -> dict[str, str]:
    """Return the headers that make a client wait this long; above the clients' limit, one that
    stops their retries.
    """
    if seconds > LONGEST_WAIT:
        return {"x-should-retry": "false"}
    return {"retry-after": str(max(1, math.ceil(seconds)))}
