"""The server's log: every line on standard error in one form, and every fault in it, whoever noticed it."""

import asyncio
import logging
import sys
import threading
from types import TracebackType
from typing import Any

from antiphon.config import Settings
from antiphon.errors import log
from antiphon.server.uvicorn.host import silence_uvicorn
from antiphon.telemetry.formatters import JsonLines, TextLines

LINES = {"text": TextLines, "json": JsonLines}

FAULT = "A fault in Antiphon"


def begin_log(settings: Settings) -> None:
    """Write lines as the settings say. At `debug` a fault is told with its message, which may quote anything."""
    stream = logging.StreamHandler(sys.stderr)
    stream.setFormatter(LINES[settings.log_format](quotes=settings.log_level == "debug"))
    # Of each record nothing is looked up that no line shows: half of what a line takes.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging.basicConfig(level=settings.log_level.upper(), handlers=[stream])
    logging.getLogger(f"{log.name}.access").setLevel("INFO" if settings.access_log else "WARNING")
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
