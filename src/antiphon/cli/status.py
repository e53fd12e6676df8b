"""`antiphon status`: backends, shared resources and stored bytes of a running server, as live
tables.
"""

import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated

import msgspec
import typer
from rich.console import Console, Group
from rich.filesize import decimal
from rich.live import Live
from rich.table import Column, Table
from rich.text import Text

from antiphon.cli.error_output import reason_of
from antiphon.cli.flags import ConfigFlag
from antiphon.cli.settings import read_settings, watch_address
from antiphon.errors import AntiphonError, ConfigError
from antiphon.jobs.cleaner import CHECK, MOST_SKEW, differs
from antiphon.status.agent_status import AgentsStatus
from antiphon.status.code_status import CodeStatus
from antiphon.status.status import (
    BackendStatus,
    ResourceStatus,
    Status,
    StorageStatus,
    TenantStorage,
)
from antiphon.upstream.options import is_listed

EVERY = 1.0
"""Seconds between two updates."""

PATIENCE = 5.0
"""Seconds that the server has to respond."""

DISPLAYED = 4
"""Models of each backend in the table."""

WHOLE = ("backend", "health")
FOLDED = ("models", "in flight", "waiting", "oldest wait", "requests", "failed")
"""Columns that stay on one line, and columns that are folded on a narrow screen."""

RESOURCE = ("shared resource", "in use", "waiting", "oldest wait")

AGENT = ("agent", "version", "workers", "running", "waiting", "oldest wait")

WORKER = ("worker of agents", "agents", "places used")

STORAGE = ("tenant", "stored", "of its limit")

NEARLY_FULL = 0.9
"""Fraction of the limit from which a tenant is highlighted."""

DISK_FULL = (
    "The disk of the store is full: requests that store something fail. With SQLite, deletions, "
    "changes of keys, and `antiphon purge` still work. Free space, or enlarge the disk."
)

LOST = (
    "Another database server took over and lacked what was stored just before: responses that were "
    "acknowledged are lost. Only synchronous replication prevents this."
)

COLORS = {"up": "green", "out": "red", "resting": "yellow", "mixed": "yellow"}

ALLOW = (
    "A server with API keys shows its status only to requests with the key of `metrics_key_env`, "
    "from `metrics_networks`, or at `metrics_listen`. Set one of them, here and on the server."
)

_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Bypasses proxies: servers do not show their status through a proxy."""


def status(
    url: Annotated[
        str | None,
        typer.Option("--url", metavar="URL", help="URL of the server. Default: from the settings."),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Show the status once.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Show the status once, as JSON.")] = False,
    config: ConfigFlag = None,
) -> None:
    """Show the status of a running server.

    Shows the health, models, queue and last error of each backend, how much of their prompts they
    could reuse, the use of each shared resource, agents with their queues and workers, and the ten
    tenants that have stored most. On a terminal, the view refreshes every second; in a pipe, it is
    printed once.

    Examples:
      antiphon status --once
    """
    settings = read_settings(config)
    server = (url or watch_address(settings)).rstrip("/").removesuffix("/v1")
    key = os.environ.get(settings.metrics_key_env, "").strip() if settings.metrics_key_env else ""
    console = Console()
    if json:
        sys.stdout.write(_fetch(server, key).decode() + "\n")
    elif once or not console.is_terminal:
        console.print(view_of(server, _read(server, key)))
    else:
        _watch(console, server, key)


def _watch(console: Console, address: str, key: str) -> None:
    """Show the status until `Ctrl-C`, also while the server is unreachable."""
    with Live(
        view_of(address, _read(address, key)), console=console, auto_refresh=False, screen=True
    ) as live:
        while True:
            time.sleep(EVERY)
            try:
                displayed = view_of(address, _read(address, key))
            except AntiphonError as error:
                displayed = Group(Text(error.message, style="red"))
            live.update(displayed, refresh=True)


def _fetch(address: str, key: str) -> bytes:
    """Return the status as JSON. Raises `AntiphonError` if the server is unreachable or rejects the
    request.
    """
    try:
        headers = {"authorization": f"Bearer {key}"} if key else {}
        request = urllib.request.Request(f"{address}/status", headers=headers)  # noqa: S310 - an operator names it
        with _direct.open(request, timeout=PATIENCE) as reply:
            body: bytes = reply.read()
            return body
    except urllib.error.HTTPError as error:
        advice = f" {ALLOW}" if error.code == HTTPStatus.FORBIDDEN else ""
        raise AntiphonError(
            f"The server at {address} rejects the request with status {error.code}.{advice}"
        ) from error
    except ValueError as error:
        raise ConfigError(
            f"'{address}' is not a URL. Write it as http://127.0.0.1:8321."
        ) from error
    except OSError as error:
        advice = "Start one with `antiphon serve`, or name its URL with --url."
        raise AntiphonError(
            f"The server at {address} is unreachable: {_cause(error)}. {advice}"
        ) from error


def _cause(error: OSError) -> str:
    """Return why the server is unreachable."""
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, TimeoutError):
        return f"no response within {PATIENCE:g} s"
    return reason_of(reason) if isinstance(reason, OSError) else str(reason)


def _read(address: str, key: str) -> Status:
    try:
        return msgspec.json.decode(_fetch(address, key), type=Status)
    except msgspec.DecodeError as error:
        raise AntiphonError(
            f"The server at {address} is not Antiphon, or has another version. Check its URL and "
            "its version."
        ) from error


def view_of(address: str, status: Status) -> Group:
    """Return the tables and lines that show the status of the server at this address."""
    whole = (Column(name, no_wrap=True) for name in WHOLE)
    # Without padding, the headings are not split on 80 columns, even with a name
    # such as 127.0.0.1:11434.
    table = Table(*whole, *(Column(name, overflow="fold") for name in FOLDED), padding=0)
    for backend in status.backends:
        table.add_row(*_row(backend))
    troubles = [
        _trouble(backend) for backend in status.backends if backend.error or backend.last_error
    ]
    troubles += [Text(line, style="red") for line in _upkeep(status)]
    workers = "1 worker" if status.workers == 1 else f"{status.workers} workers"
    head = Text(f"{address}: {workers}, {status.responses_in_flight} responses in progress")
    prompts = [_prompts(backend) for backend in status.backends if backend.prompt_bytes]
    code = [] if status.code is None else _code(status.code)
    return Group(
        head,
        table,
        *troubles,
        *prompts,
        _resources(status.shared),
        *code,
        *_agents(status.agents),
        *_storage(status.storage),
    )


def _upkeep(status: Status) -> list[str]:
    """Return the reasons why the server deletes no expired data or stores nothing, and what the
    store has lost.
    """
    lines = [DISK_FULL] if status.disk_full else []
    lines += [LOST] if status.older_failovers else []
    lines += (
        [f"{differs(status.clock_skew)} Nothing is deleted."]
        if abs(status.clock_skew) > MOST_SKEW
        else []
    )
    if status.purge_held:
        lines.append(
            f"At least {status.purge_held:,} responses have expired, too many for one purge. "
            f"{CHECK}"
        )
    return lines


def _row(one: BackendStatus) -> tuple[Text, ...]:
    return (
        Text(one.name),
        Text(_health(one), style=COLORS["out" if one.error else one.health]),
        Text(_models(one)),
        Text(f"{one.in_flight} of {one.concurrency}" if one.concurrency else str(one.in_flight)),
        Text(f"{one.waiting} of {one.queue}" if one.concurrency else str(one.waiting)),
        Text(_seconds(one.oldest_wait)),
        Text(str(one.requested)),
        Text(str(one.failed)),
    )


def _prompts(one: BackendStatus) -> Text:
    """Return the share of the prompts of sessions that a prefix cache can reuse, and the newest
    break.
    """
    reused = (
        f"{one.name}: {one.prompt_reused_bytes / one.prompt_bytes:.0%} of its prompts repeated "
        "the previous prompt"
    )
    if not one.prompt_breaks:
        return Text(reused)
    prompts = "1 prompt did" if one.prompt_breaks == 1 else f"{one.prompt_breaks:,} prompts did"
    return Text(
        f"{reused}; {prompts} not continue it, most recently from {one.last_prompt_break} on"
    )


def _resources(shared: Sequence[ResourceStatus]) -> Table:
    table = Table(*RESOURCE)
    for one in shared:
        in_use = f"{one.in_use} of {one.capacity}" if one.capacity else str(one.in_use)
        table.add_row(one.name, in_use, str(one.waiting), _seconds(one.oldest_wait))
    return table


def _code(one: CodeStatus) -> list[Text]:
    """Return two lines about code: containers, kernels and memory, then the outcomes of calls."""
    if one.problem:
        return [
            Text(f"Code: the sandbox '{one.sandbox}' does not work. {one.problem}", style="red")
        ]
    containers = (
        "containers unknown" if one.containers is None else _number(one.containers, "container")
    )
    kernels = f"{_number(one.kernels, 'kernel')} with {decimal(one.memory)} of memory"
    calls = f"{_number(one.running, 'call')} running, {one.waiting:,} waiting"
    lines = [Text(f"Code ({one.sandbox}): {containers}, {kernels}, {calls}")]
    ended = [f"{count:,} {ending}" for ending, count in sorted(one.calls.items())]
    ended += [f"{count:,} rejected ({reason})" for reason, count in sorted(one.rejections.items())]
    return [*lines, Text(f"Calls of code since the start: {', '.join(ended)}")] if ended else lines


def _agents(agents: AgentsStatus | None) -> list[Table]:
    """Return a table of the agents and their queues, and one of the workers that serve them."""
    if agents is None:
        return []
    by_agent = Table(Column(AGENT[0], overflow="fold"), *AGENT[1:])
    for one in agents.agents:
        wait = _seconds(one.oldest_wait)
        style = "red" if one.waiting and not one.workers else ""
        counts = (one.workers, one.running, one.waiting)
        by_agent.add_row(one.name, ", ".join(one.versions), *map(str, counts), wait, style=style)
    workers = Table(*WORKER)
    for worker in agents.workers:
        places = f"{worker.running} of {worker.places}"
        workers.add_row(worker.name, ", ".join(worker.agents), places)
    return [by_agent, *([workers] if agents.workers else [])]


def _number(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count:,} {what}s"


def _storage(storage: StorageStatus | None) -> list[Text | Table]:
    """Return a line about the stored bytes of all tenants, and a table of those that have stored
    most.
    """
    if storage is None:
        return [Text("The store did not respond, so the stored bytes are unknown.", style="red")]
    most = storage.max_stored_bytes
    tenants = "1 tenant" if storage.tenants == 1 else f"{storage.tenants:,} tenants"
    limit = f"at most {decimal(most)} each" if most else "no limit"
    head = Text(f"Stored: {decimal(storage.stored_bytes)} of {tenants}, {limit} (max_stored_bytes)")
    if not storage.largest:
        return [head]
    table = Table(
        Column(STORAGE[0], overflow="fold"), *(Column(name, no_wrap=True) for name in STORAGE[1:])
    )
    for one in storage.largest:
        table.add_row(*_stored(one, most))
    return [head, table]


def _stored(one: TenantStorage, most: int | None) -> tuple[Text, ...]:
    used = one.stored_bytes / most if most else 0.0
    style = "red" if used >= 1 else "yellow" if used >= NEARLY_FULL else ""
    name = Text(one.tenant or "(no API key)")
    return name, Text(decimal(one.stored_bytes)), Text(f"{used:.0%}" if most else "", style=style)


def _seconds(wait: float) -> str:
    return f"{wait:.1f} s" if wait else ""


def _health(one: BackendStatus) -> str:
    if one.health == "resting":
        return f"resting for {one.rests_for:.0f} s"
    return "unreached" if one.error and one.health == "up" else one.health


def _models(one: BackendStatus) -> str:
    names = [
        f"{name} (loaded)" if _is_loaded(one, name) else name for name in one.models[:DISPLAYED]
    ]
    more = [f"and {len(one.models) - DISPLAYED} more"] if len(one.models) > DISPLAYED else []
    return ", ".join([*names, *more])


def _is_loaded(one: BackendStatus, name: str) -> bool:
    return one.loaded is not None and is_listed(name, one.loaded)


def _trouble(one: BackendStatus) -> Text:
    error = (
        one.error
        if one.last_error_ago is None
        else f"{one.last_error} ({one.last_error_ago:.0f} s ago)"
    )
    line = error if error.startswith(f"Backend '{one.name}'") else f"{one.name}: {error}"
    return Text(line, style="red" if one.error else "")
