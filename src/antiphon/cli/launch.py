"""`antiphon launch`: starts a coding agent with a server, without changing its
configuration.
"""

import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from antiphon.cli.error_output import did_you_mean
from antiphon.cli.flags import BackendFlag, ConfigFlag
from antiphon.cli.launching.clients import CLIENTS, NO_KEY, LaunchClient, LaunchFacts
from antiphon.cli.launching.process import Runner, write_files
from antiphon.cli.launching.server import (
    SCRIPTED,
    LaunchedServer,
    choose,
    is_scripted,
    read_backends,
    read_catalog,
    runs,
    started,
)
from antiphon.cli.settings import address, read_settings
from antiphon.errors import AntiphonError, ConfigError
from antiphon.extras import require
from antiphon.upstream.probing.measurement import TOO_WEAK

HINT = (
    f"{SCRIPTED} is Antiphon's scripted model, because the server found no backend. "
    "To use your own model, start its server and restart Antiphon, or set the URL of your model "
    "server with --backend."
)


def launch(
    client: Annotated[
        str, typer.Argument(metavar="CLIENT", help=f"Client to start: {', '.join(CLIENTS)}.")
    ],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="ARGS", help="Arguments for the client, after `--`."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Model to start with. Default: the only one."),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            "--base-url",
            metavar="URL",
            help="Base URL of a running server, ending in /v1. Default: that of the settings.",
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(metavar="PORT", help="Start a server on this port. Default: a free port."),
    ] = None,
    backend: BackendFlag = None,
    config: ConfigFlag = None,
    key_env: Annotated[
        str | None,
        typer.Option(
            "--key-env",
            metavar="NAME",
            help="Environment variable with the API key of the server. Default: none.",
        ),
    ] = None,
) -> None:
    """Start a coding agent with a model that Antiphon serves.

    Starts a server if none is running. Your configuration of the agent is not changed. Arguments
    after `--` go to the agent, and the exit code is that of the agent.

    Examples:
      antiphon launch codex
      antiphon launch codex --model qwen3 -- exec "Fix the failing tests."
    """
    found = _client(client)
    key = _key(key_env)
    runner = Runner()
    with (
        runner.handling_signals(),
        TemporaryDirectory(prefix="antiphon-launch-") as folder,
        _server(client, base_url, port, backend, config) as server,
    ):
        catalog = read_catalog(server.url, key)
        known = {str(one["slug"]) for one in catalog} - {SCRIPTED}
        backends = [] if known else read_backends(server.url, key)  # needed for the error only
        chosen = choose(catalog, model, backends)
        facts = LaunchFacts(
            *(server.url, chosen, catalog, folder, key_env or "", key or NO_KEY),
            no_proxy=os.environ.get("NO_PROXY") or os.environ.get("no_proxy", ""),
        )
        profile = found.profile(facts)
        write_files(Path(folder), profile.files)
        _announce(client, facts, server)
        if sentence := _verdict(facts):
            sys.stderr.write(f"antiphon: {sentence}\n")
        if is_scripted(chosen, backends):
            sys.stderr.write(f"antiphon: {HINT}\n")
        code = runner.run(
            [found.command, *profile.arguments, *(arguments or ())], profile.environment
        )
    raise typer.Exit(code)


def _verdict(facts: LaunchFacts) -> str:
    """Return the server's sentence about a model that coding agents cannot use; empty for any
    other.
    """
    stated = next(
        (str(one.get("description")) for one in facts.catalog if one["slug"] == facts.model), ""
    )
    return "".join(filter(str.isprintable, stated)) if stated.startswith(TOO_WEAK) else ""


def _client(name: str) -> LaunchClient:
    """Return a client if its command is installed. Raises `ConfigError`."""
    found = CLIENTS.get(name)
    if found is None:
        known = ", ".join(CLIENTS)
        raise ConfigError(
            "`antiphon launch` does not support the client "
            f"'{name}'.{did_you_mean(name, CLIENTS)} Supported: {known}."
        )
    if shutil.which(found.command) is None:
        raise ConfigError(
            f"The command '{found.command}' is not on PATH. Install it with `npm install -g "
            f"{found.package}`."
        )
    return found


def _key(variable: str | None) -> str:
    """Return the API key that a variable holds, empty if no variable is named.

    Raises `ConfigError`.
    """
    if variable is None:
        return ""
    key = os.environ.get(variable, "")
    if not key:
        raise ConfigError(
            f"The variable {variable} in --key-env is not set. Set it to the API key of the server."
        )
    return key


@contextmanager
def _server(
    client: str,
    base_url: str | None,
    port: int | None,
    backend: list[str] | None,
    config: Path | None,
) -> Iterator[LaunchedServer]:
    """Yield a running server: the named one, else the one of the settings, else a new one for the
    client.

    Raises `ConfigError` for flags that contradict each other, `AntiphonError` if the named server
    does not run.
    """
    if base_url is not None:
        if port is not None or backend:
            raise ConfigError(
                "--base-url selects a running server, but --port and --backend configure a new "
                "one. Use either."
            )
        url = f"{base_url.rstrip('/').removesuffix('/v1')}/v1"
        if not runs(url):
            text = (
                f"No Antiphon server responds at {url}. Start it with `antiphon serve`, "
                "or omit --base-url."
            )
            raise AntiphonError(text)
        yield LaunchedServer(url)
        return
    usual = f"{address(read_settings(config, backend))}/v1"
    if port is None and not backend and runs(usual):
        yield LaunchedServer(usual)
        return
    if extra := CLIENTS[client].extra:
        require(extra, "A server for this client")
    flags = ["--port", str(port or 0), *(f"--backend={one}" for one in backend or ())]
    flags += ["--config", str(config)] if config else []
    with started(flags, f"launch-{client}.log") as server:
        yield server


def _announce(client: str, facts: LaunchFacts, server: LaunchedServer) -> None:
    """Print client, model and server on standard error, without control characters, which a model
    name may have.
    """
    window = next(
        (one.get("context_window") for one in facts.catalog if one["slug"] == facts.model), None
    )
    measuring = f"; `antiphon models probe {shlex.quote(facts.model)} --measure-window` measures it"
    size = (
        f"{window:,} tokens" if window else f"unknown{'' if facts.model == SCRIPTED else measuring}"
    )
    new = f", a server that was started for it; its log is {server.log}" if server.log else ""
    line = f"antiphon: {client} uses {facts.model} (context window: {size}) at {server.url}{new}"
    sys.stderr.write("".join(character for character in line if character.isprintable()) + "\n")
    sys.stderr.flush()
