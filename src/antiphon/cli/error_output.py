"""Error messages of commands."""

import errno
import logging
import os
from collections.abc import Iterable

from antiphon.errors import (
    AntiphonError,
    ConfigError,
    StoreError,
    closest_name,
    log,
    without_secrets,
)

_OF_THE_PORT = {errno.EADDRINUSE, errno.EACCES}
"""Errors about the port; other errors are about the address."""


def is_log_json() -> bool:
    """Return whether the log on standard error is JSON."""
    if not logging.root.handlers:
        return False
    from antiphon.telemetry.formatters import JsonLines  # noqa: PLC0415 - most commands have no log

    return any(isinstance(one.formatter, JsonLines) for one in logging.root.handlers)


def complain(message: str) -> None:
    """Print an error on one line of standard error: as an object if the log is JSON."""
    text = " ".join(without_secrets(message).split())
    if is_log_json():
        log.error("%s", text)
        return
    from rich.console import Console  # noqa: PLC0415 - not needed by a server

    line = f"antiphon: {text}"
    Console(stderr=True).print(line, style="red", markup=False, soft_wrap=True)


def text_for_operator(error: AntiphonError) -> str:
    """Return the text of an error; a `StoreError`, with a text for clients that hides its cause,
    with the cause.
    """
    cause = error.__cause__
    return (
        f"{error} Cause: {type(cause).__name__}: {cause}"
        if isinstance(error, StoreError) and cause
        else str(error)
    )


def reason_of(error: OSError) -> str:
    """Return the reason from the operating system, without the additions of libraries."""
    if error.errno is None:
        return str(error)
    if error.errno < 0:  # errors of `getaddrinfo` have their own numbers
        return f"DNS lookup failed ({error.strerror})"
    return os.strerror(error.errno).lower()


def cannot_listen(host: str, port: int, error: OSError, setting: str = "") -> ConfigError:
    """Return the error for an address on which a server cannot listen.

    `setting` is the name of the setting with this address; empty for the flags --host and --port.
    """
    flag = "port with --port" if error.errno in _OF_THE_PORT else "address with --host"
    advice = f"Choose another {f'address as {setting}' if setting else flag}"
    stop = ", or stop the program that listens there" if error.errno == errno.EADDRINUSE else ""
    return ConfigError(f"Cannot listen on {host}:{port}: {reason_of(error)}. {advice}{stop}.")


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a sentence, after a space, that suggests one of these names; empty if none is
    similar.
    """
    near = closest_name(name, names)
    return f" Did you mean '{near}'?" if near else ""
