"""How long a backend wants to be left alone, in every spelling that is about."""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
IN_WORDS = re.compile(r"(?:try again|retry) in\s+((?:\d+(?:\.\d+)?\s*(?:ms|h|m|s)[a-z]*\s*)+)", re.IGNORECASE)


def wait_of(headers: Mapping[str, str], message: str = "", now: datetime | None = None) -> float | None:
    """Return the seconds to wait, None where nothing readable says so.

    `retry-after-ms`, `retry-after` in seconds, as a span ("1m30s") or as an HTTP date; else OpenAI's "Please try again
    in 1.5s", which stands in the message alone (cases/faults.md, row 6).
    """
    if (milliseconds := _number(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    told = headers.get("retry-after", "").strip()
    for read in (_number, _span):
        if (seconds := read(told)) is not None:
            return seconds
    if told:
        return _until(told, now or datetime.now(UTC))
    words = IN_WORDS.search(message)
    return _span(words[1]) if words else None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _span(text: str) -> float | None:
    parts = SPAN.findall(text.replace(" ", ""))
    return sum(float(count) * SECONDS[unit] for count, unit in parts) if parts else None


def _until(text: str, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    until = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (until - now).total_seconds())
