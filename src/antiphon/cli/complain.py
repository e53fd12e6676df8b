"""How a command says what went wrong."""

import errno
import logging
import os
from collections.abc import Iterable

from antiphon.errors import ConfigError, log, meant, without_secrets

_OF_THE_PORT = {errno.EADDRINUSE, errno.EACCES}
"""Errors that another port avoids; other errors are about the address."""


def is_log_json() -> bool:
    """Whether the lines on standard error are JSON."""
    if not logging.root.handlers:
        return False
    from antiphon.telemetry.formatters import JsonLines  # noqa: PLC0415 - most commands have no log

    return any(isinstance(one.formatter, JsonLines) for one in logging.root.handlers)


def complain(message: str) -> None:
    """Print what went wrong, on one line of standard error: as an object where the log is JSON."""
    text = " ".join(without_secrets(message).split())
    if is_log_json():
        log.error("%s", text)
        return
    from rich.console import Console  # noqa: PLC0415 - a server that starts needs none

    line = f"antiphon: {text}"
    Console(stderr=True).print(line, style="red", markup=False, soft_wrap=True)


def reason_of(error: OSError) -> str:
    """Return why the operating system refused, without what libraries add to its words."""
    if error.errno is None:
        return str(error)
    if error.errno < 0:  # an error of `getaddrinfo` has numbers of its own
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
    """Return a sentence, after a space, that suggests one of these names; empty where none is near."""
    near = meant(name, names)
    return f" Did you mean '{near}'?" if near else ""
