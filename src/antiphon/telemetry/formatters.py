"""Formats log lines: as text for people or as JSON for programs, each with the request during which
it was written.

A line never contains text of a client or a backend. Errors are reported by their type and place:
messages of exceptions quote the data that caused them, so they are omitted, here and in all log
calls, except for debugging (`log_level = debug`). For this project's own errors the gist is logged.
"""

import logging
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import PurePath
from typing import Any

import msgspec

from antiphon.errors import AntiphonError, without_secrets
from antiphon.telemetry.context import About, about

OWN = "antiphon"
"""The name of this project's logger, or its prefix."""

FIELDS = "fields"
"""The attribute of a record with more fields of a line, by name."""

DISPLAYED = (
    "request_id",
    "response_id",
    "api_key_id",
    "backend",
    "model",
    "cache",
    "outcome",
    "corrected",
    "trace_id",
)

_encode = msgspec.json.Encoder().encode


class TextLines(logging.Formatter):
    """`2026-11-21T09:18:46.123Z WARNING antiphon: What happened. [req_1 resp_1 groq]`, then the
    place of a fault.
    """

    def __init__(self, *, quotes: bool = False) -> None:
        super().__init__()
        self._quotes = quotes

    def format(self, record: logging.LogRecord) -> str:
        """See `logging.Formatter.format`."""
        known = about()
        named = " ".join(
            filter(
                None,
                (
                    known.request_id,
                    known.response_id,
                    known.backend,
                    known.outcome,
                    known.corrected,
                ),
            )
        )
        text = f"{_time(record)} {record.levelname} {record.name}: {_message(record, self._quotes)}"
        return "\n  ".join(
            [f"{text} [{_printable(named)}]" if named else text, *_fault(record, self._quotes)]
        )


class JsonLines(logging.Formatter):
    """One object per line: `time`, `level`, `logger`, `message`, the facts about the request, and
    `fault`.
    """

    def __init__(self, *, quotes: bool = False) -> None:
        super().__init__()
        self._quotes = quotes

    def format(self, record: logging.LogRecord) -> str:
        """See `logging.Formatter.format`."""
        line: dict[str, Any] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record, self._quotes),
            **_known(about()),
            **getattr(record, FIELDS, {}),
        }
        if fault := list(_fault(record, self._quotes)):
            line["fault"] = fault
        return _encode(line).decode()


def fields(**stated: Any) -> Mapping[str, Any]:
    """Return the `extra` argument of a log call, to add these fields to a line."""
    return {FIELDS: stated}


def _known(known: About) -> Mapping[str, str]:
    return {name: value for name in DISPLAYED if (value := getattr(known, name))}


def _time(record: logging.LogRecord) -> str:
    return f"{_second(int(record.created))}.{int(record.msecs):03}Z"


def _gist(error: Exception) -> str:
    return error.gist if isinstance(error, AntiphonError) else type(error).__name__


@lru_cache(maxsize=2)
def _second(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"


def _message(record: logging.LogRecord, quotes: bool) -> str:
    """Return the message; other loggers put the data that caused an error into further lines.

    See `without_secrets`.
    """
    if (
        quotes
        or not isinstance(record.args, tuple)
        or not any(isinstance(one, Exception) for one in record.args)
    ):
        text = record.getMessage()
    else:
        text = str(record.msg) % tuple(
            _gist(one) if isinstance(one, Exception) else one for one in record.args
        )
    line = text if record.name.partition(".")[0] == OWN else text.partition("\n")[0]
    return _printable(without_secrets(line) if "://" in line else line)


def _printable(text: str) -> str:
    """Return text as one line, whatever it contains."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def _fault(record: logging.LogRecord, quotes: bool) -> Iterator[str]:
    """Yield the place and type of an exception, its cause first."""
    error = record.exc_info[1] if record.exc_info else None
    causes: list[BaseException] = []
    while error is not None and error not in causes:
        causes.insert(0, error)
        error = error.__cause__ or error.__context__
    for each in causes:
        yield from _places(each)
        yield f"{type(each).__name__}: {_printable(str(each))}" if quotes else type(each).__name__


def _places(error: BaseException) -> Iterator[str]:
    place = error.__traceback__
    while place is not None:
        code = place.tb_frame.f_code
        yield (
            f"{'/'.join(PurePath(code.co_filename).parts[-3:])}:{place.tb_lineno} in {code.co_name}"
        )
        place = place.tb_next
