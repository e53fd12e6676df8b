"""The server's log: every line on standard error in one form, and every fault in it, whoever noticed it."""

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
from antiphon.server.uvicorn.host import silence_uvicorn
from antiphon.telemetry.formatters import JsonLines, TextLines

LINES = {"text": TextLines, "json": JsonLines}

FAULT = "A fault in Antiphon"


class EarlyHandler(logging.StreamHandler[Any]):
    """Writes lines as JSON until the settings are read."""


def begin_early_log(arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    """Write JSON from the first line on where the log is to be JSON: the command line or a setting may be wrong."""
    if _is_json_wanted(arguments, environment):
        early = EarlyHandler(sys.stderr)
        early.setFormatter(JsonLines())
        logging.root.addHandler(early)


def _is_json_wanted(arguments: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Return what the variable says of the log, else the file, as far as that can be read."""
    if said := environment.get(f"{PREFIX}LOG_FORMAT"):
        return said == "json"
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
    """Write lines as the settings say. At `debug` a fault is told with its message, which may quote anything."""
    for early in [one for one in logging.root.handlers if isinstance(one, EarlyHandler)]:
        logging.root.removeHandler(early)
    stream = logging.StreamHandler(sys.stderr)
    stream.setFormatter(LINES[settings.log_format](quotes=settings.log_level == "debug"))
    # Of each record nothing is looked up that no line shows: half of what a line takes.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging.basicConfig(level=settings.log_level.upper(), handlers=[stream])
    logging.getLogger(f"{log.name}.access").setLevel("INFO" if settings.access_log else "WARNING")
    logging.captureWarnings(True)
    silence_uvicorn()
    threading.excepthook = lambda fault: _tell(fault.exc_type, fault.exc_value, fault.exc_traceback)
    sys.unraisablehook = lambda fault: _tell(fault.exc_type, fault.exc_value, fault.exc_traceback)


def hear_faults() -> None:
    """Tell what nobody waits for of the work on this loop; asyncio's own words show arguments and results."""
    asyncio.get_running_loop().set_exception_handler(_tell_of_loop)


def _tell_of_loop(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    error = context.get("exception")
    if error is None:
        log.error("%s: %s", FAULT, context["message"])
    else:
        log.error(FAULT, exc_info=error)


def _tell(kind: type[BaseException], error: BaseException | None, place: TracebackType | None) -> None:
    if kind is not SystemExit:
        log.error(FAULT, exc_info=(kind, error or kind(), place))
