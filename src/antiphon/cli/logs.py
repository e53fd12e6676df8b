"""The log of the server: all lines on standard error in one format, with all internal errors."""

import asyncio
import logging
import sys
import threading
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any

from antiphon.config import PREFIX, Settings, settings_file
from antiphon.errors import log
from antiphon.http_server.host import silence_uvicorn
from antiphon.telemetry.formatters import JsonLines, TextLines

LINES = {"text": TextLines, "json": JsonLines}

FAULT = "A fault in Antiphon"


class EarlyHandler(logging.StreamHandler[Any]):
    """Writes lines as JSON until the settings are read."""


def begin_early_log(arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    """Write JSON from the first line if the log format is JSON: the command line or a setting may
    be invalid.
    """
    if _is_json_wanted(arguments, environment):
        early = EarlyHandler(sys.stderr)
        early.setFormatter(JsonLines())
        logging.root.addHandler(early)


def _is_json_wanted(arguments: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Return whether the variable, or else the file if it is readable, sets the log format to
    JSON.
    """
    if stated := environment.get(f"{PREFIX}LOG_FORMAT"):
        return stated == "json"
    named = [one.partition("=")[2] for one in arguments if one.startswith("--config=")]
    named += [after for one, after in pairwise(arguments) if one == "--config"]
    path = settings_file(Path(named[-1]) if named else None, environment)
    if path is None:
        return False
    import tomllib  # noqa: PLC0415 - many servers have no file

    try:
        return tomllib.loads(path.read_text(encoding="utf-8")).get("log_format") == "json"
    except (OSError, ValueError):
        return False


def begin_log(settings: Settings) -> None:
    """Configure the log. At `debug`, internal errors have their messages, which can quote any
    data.
    """
    for early in [one for one in logging.root.handlers if isinstance(one, EarlyHandler)]:
        logging.root.removeHandler(early)
    stream = logging.StreamHandler(sys.stderr)
    stream.setFormatter(LINES[settings.log_format](quotes=settings.log_level == "debug"))
    # Skip facts that no line shows: they take half of the time of a line.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging.basicConfig(level=settings.log_level.upper(), handlers=[stream])
    logging.getLogger(f"{log.name}.access").setLevel("INFO" if settings.access_log else "WARNING")
    logging.captureWarnings(True)
    silence_uvicorn()
    threading.excepthook = lambda fault: _log_error(
        fault.exc_type, fault.exc_value, fault.exc_traceback
    )
    sys.unraisablehook = lambda fault: _log_error(
        fault.exc_type, fault.exc_value, fault.exc_traceback
    )


def log_loop_errors() -> None:
    """Log errors of this loop that no task awaits; the texts of asyncio would show arguments and
    results.
    """
    asyncio.get_running_loop().set_exception_handler(_log_loop_error)


def _log_loop_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    error = context.get("exception")
    if error is None:
        log.error("%s: %s", FAULT, context["message"])
    else:
        log.error(FAULT, exc_info=error)


def _log_error(
    kind: type[BaseException], error: BaseException | None, place: TracebackType | None
) -> None:
    if kind is not SystemExit:
        log.error(FAULT, exc_info=(kind, error or kind(), place))
