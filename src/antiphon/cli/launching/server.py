"""The server that a launched client uses: a running one, or a new one."""

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from antiphon.cli.error_output import did_you_mean, reason_of
from antiphon.errors import AntiphonError, ConfigError
from antiphon.upstream.options import is_listed
from antiphon.version import __version__

PATIENCE = 5.0
"""Seconds that a server has to respond to a health check."""

LISTING = 60.0
"""Seconds that a server has to list its models: it requests the lists of all backends again."""

STOPPING = 10.0
"""Seconds that a server has to stop if this command started it."""

DISPLAYED = 20
"""Number of models that an error lists."""

SCRIPTED = "demo"
"""Name of the scripted model, of its backend in a server, and of its dialect."""

READY = re.compile(r"is ready: base URL (\S+?);")

LOGS = "~/.local/state/antiphon"
"""Folder with the logs of servers that this command starts; the next server of the same client
replaces its log.
"""

_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Opens URLs without a proxy, as a client on this machine does."""


class LaunchedServer(NamedTuple):
    """A running server."""

    url: str
    """Base URL, ending in `/v1`."""
    log: str = ""
    """Path of its log file; empty for a server that this command did not start."""


def runs(url: str) -> bool:
    """Return whether an Antiphon server responds at this base URL."""
    try:
        with _direct.open(f"{url.removesuffix('/v1')}/healthz", timeout=PATIENCE) as reply:
            return bool(json.load(reply) == {"status": "ok"})
    except (OSError, ValueError):
        return False


@contextmanager
def started(flags: Sequence[str], log_name: str) -> Iterator[LaunchedServer]:
    """Run `antiphon serve` with these flags until the end of the block, and wait until it is ready.

    The server has its own session, so that `Ctrl-C` in the terminal reaches only the client. Its
    log is a file of this name in the folder of logs, and is deleted at the end if it is empty.
    Raises `AntiphonError` if the log cannot be written, and if the server does not start, with its
    last line.
    """
    # -P: a folder named `antiphon` in the working directory must not be imported.
    command = [sys.executable, "-P", "-m", "antiphon", "serve", *flags]
    with _new_log(Path(LOGS).expanduser() / log_name) as log:
        process = subprocess.Popen(  # noqa: S603 - this program itself
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
        )
        try:
            ready = next(
                (found for line in process.stdout or () if (found := READY.search(line))), None
            )
            if ready is None:
                raise AntiphonError(f"`antiphon serve` did not start. {_last_line(Path(log.name))}")
            yield LaunchedServer(ready[1], log.name)
        finally:
            _stop(process)
            stored = os.fstat(log.fileno())
            if (
                not stored.st_size and stored.st_nlink
            ):  # without a link, the path is the log of a newer server
                Path(log.name).unlink()


def _new_log(path: Path) -> TextIO:
    """Open a new file that only its owner can read.

    A server that still writes the previous file keeps it.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        return open(str(path), "x", opener=partial(os.open, mode=0o600))
    except OSError as error:
        raise AntiphonError(
            f"The server's log {path} cannot be written: {reason_of(error)}."
        ) from error


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.communicate(timeout=STOPPING)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("antiphon: ") if lines else f"Its log {log} is empty."


def read_catalog(url: str, key: str = "") -> list[dict[str, Any]]:
    """Return the models that a server lists, as entries of Codex's catalog.

    Raises `ConfigError` if the server rejects the key, `AntiphonError` if it does not respond as
    Antiphon does.
    """
    request = urllib.request.Request(f"{url}/models?client_version={__version__}")  # noqa: S310 - the user's address
    if key:
        request.add_header("Authorization", f"Bearer {key}")
    try:
        with _direct.open(request, timeout=LISTING) as reply:
            catalog: list[dict[str, Any]] = json.load(reply)["models"]
            return catalog
    except urllib.error.HTTPError as error:
        if error.code in {401, 403}:
            raise ConfigError(_needs_key(url, key)) from error
        raise AntiphonError(
            f"The server at {url} does not list its models: status {error.code}."
        ) from error
    except OSError as error:
        raise AntiphonError(
            f"The server at {url} does not list its models: {reason_of(error)}."
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        text = (
            f"The server at {url} returns no model catalog, so it is not Antiphon. Check the URL."
        )
        raise AntiphonError(text) from error


def read_backends(url: str, key: str = "") -> list[dict[str, Any]]:
    """Return the backends in the status of a server; none if the server rejects this request."""
    headers = {"authorization": f"Bearer {key}"} if key else {}
    request = urllib.request.Request(f"{url.removesuffix('/v1')}/status", headers=headers)  # noqa: S310 - as above
    try:
        with _direct.open(request, timeout=PATIENCE) as reply:
            backends: list[dict[str, Any]] = json.load(reply)["backends"]
            return backends
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _needs_key(url: str, key: str) -> str:
    if key:
        return (
            f"The server at {url} rejects the API key. Ask the server's operator for a valid key."
        )
    return (
        f"The server at {url} requires an API key. Set it in a variable, and name the variable "
        "with --key-env."
    )


def choose(
    catalog: Sequence[Mapping[str, Any]],
    wanted: str | None,
    backends: Sequence[Mapping[str, Any]] = (),
) -> str:
    """Return the model to start with, by the name that the server lists: the requested one, else
    the only one.

    A server that lists no models may serve any name. Raises `ConfigError` if the model does not
    exist, if the server has several and none is requested, and if it lists none, with the errors of
    the backends.
    """
    names = [str(entry["slug"]) for entry in catalog]
    if not names:
        if wanted is None:
            reasons = [str(one["error"]) for one in backends if one.get("error")]
            advice = "Start a backend, or name a model with --model."
            raise ConfigError(f"The server lists no model. {' '.join(reasons) or advice}")
        return wanted
    if wanted is None and len(names) > 1:
        raise ConfigError(
            f"The server has several models. Choose one with --model: {_listed(names)}."
        )
    found = next((name for name in names if wanted is None or is_listed(wanted, [name])), None)
    if found is None:
        hint = did_you_mean(wanted or "", names)
        raise ConfigError(
            f"The server does not have the model '{wanted}'.{hint} It has: {_listed(names)}."
        )
    return found


def is_scripted(model: str, backends: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether this is the scripted model of a server that found no backend."""
    return any(one.get("name") == one.get("dialect") == model == SCRIPTED for one in backends)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - DISPLAYED} more" if len(names) > DISPLAYED else ""
    return ", ".join(names[:DISPLAYED]) + more
