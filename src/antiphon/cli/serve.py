"""`antiphon serve`: the server."""

import asyncio
import gc
import json
import resource
import shlex
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from antiphon.build import Application, build
from antiphon.build.hosting import app_of, limits_of
from antiphon.build.models import hidden_models, unknown_models
from antiphon.cli.listeners import listener_at, serve_watchers
from antiphon.cli.logs import begin_log, log_loop_errors
from antiphon.cli.model_names import offered
from antiphon.cli.reread import Current, Reread
from antiphon.cli.settings import reachable, read_settings
from antiphon.cli.workers import Member, ServerMemory, supervise
from antiphon.config import Settings, listen_address, settings_file
from antiphon.errors import ConfigError, StoreError, log, redacted
from antiphon.extras import command, is_installed
from antiphon.gateway import Gateway
from antiphon.http_server.host import WEBSOCKET, UvicornHost
from antiphon.http_server.workers import Workers
from antiphon.packages import load_optional, problem_with
from antiphon.server.console import is_built
from antiphon.server.resources.monitoring import metrics_topic, status_topic
from antiphon.storage.open import creates_file, is_in_memory, open_store
from antiphon.storage.operations import api_keys
from antiphon.upstream.backend_state import NOT_REQUESTED, BackendState
from antiphon.version import __version__

if TYPE_CHECKING:
    from antiphon.http_server.watch_server import WatchServer

DISPLAYED = 8
"""Models of a backend that the ready line names."""

AGENTS = "The worker of agents"
"""The process with `--agents`, in the log."""

START = 10.0
"""Seconds that the ready line waits for the worker of agents."""

CHECK_EVERY = 0.05
"""Seconds between two checks whether this worker runs."""


@dataclass(frozen=True, slots=True)
class Listeners:
    """The listening sockets of a server."""

    api: socket.socket
    watch: socket.socket | None = None
    """The listener in `metrics_listen`, if the settings have one."""


def serve(
    host: str | None = None,
    port: int | None = None,
    backend: list[str] | None = None,
    store: str | None = None,
    workers: int | None = None,
    agents: str | None = None,
    config: Path | None = None,
) -> int:
    """Run the server until a signal stops it, and a worker of `agents`; return the exit code.

    Raises `ConfigError`.
    """
    file: Path | None = None

    def read() -> Settings:
        nonlocal file
        file = file or settings_file(config)  # a file that existed and was deleted is an error
        return read_settings(file, backend, host=host, port=port, store=store, workers=workers)

    settings = read()
    current = Current(settings, read)
    begin_log(settings)
    _warn_of_missing(settings)
    _allow_connections()
    memory = ServerMemory()
    if not _is_loopback(settings.host):
        asyncio.run(_check_keys(settings))
        memory.had_keys = True
    with _listen(settings) as listeners:
        if settings.workers == 1 and agents is None:
            _run(current, listeners, memory)
            return 0
        from tempfile import TemporaryDirectory  # noqa: PLC0415 - for several processes only

        _check_shared(settings)
        # Only its owner has access; each process has a socket in it for the others.
        with TemporaryDirectory(prefix="antiphon-") as folder:
            members = [
                Member(
                    f"Worker {number}",
                    partial(
                        _run, current, listeners, memory, number, Path(folder), agents is not None
                    ),
                    lambda: memory.was_ready,
                )
                for number in range(settings.workers)
            ]
            if agents is not None:
                run = partial(_run_agents, current, agents, memory, Path(folder))
                members.append(Member(AGENTS, run, lambda: memory.had_agents, is_last=True))
            return supervise(members, current.renew)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


async def _check_keys(settings: Settings) -> None:
    """Raise `ConfigError` if the store has no API key: other machines could use the server without
    one.
    """
    if not creates_file(settings.store) and await _has_keys(settings.store):
        return
    raise ConfigError(
        f"The address {settings.host} is open to other machines, and the store {settings.store} "
        "has no API key. "
        "Create one with `antiphon keys create`, or listen on 127.0.0.1."
    )


async def _has_keys(url: str) -> bool:
    store = await open_store(url)
    try:
        return await store.read(api_keys.any_at_all)
    finally:
        await store.close()


def _check_shared(settings: Settings) -> None:
    if is_in_memory(settings.store):
        raise ConfigError(
            "Several processes need a shared store, but the store is in memory. "
            "Set `store` to a file or a PostgreSQL database."
        )


def _run_agents(current: Current, target: str, memory: ServerMemory, folder: Path) -> None:
    """Run the process of the agents. Only this process imports them: if they end it, the server
    continues.
    """
    from antiphon.agents.execution import AgentWorker  # noqa: PLC0415 - for agents alone
    from antiphon.cli.agents import CONCURRENCY, agents_of, run_agents  # noqa: PLC0415 - for agents alone

    agents = AgentWorker(agents_of(target), CONCURRENCY)

    @asynccontextmanager
    async def report(application: Application) -> AsyncIterator[None]:
        gateway = application.gateway
        topics = metrics_topic(gateway, "agents"), status_topic(gateway, serves=False)
        workers = Workers(folder, "agents", *topics, log=log)
        await workers.start()
        memory.had_agents = True
        _print(f"Antiphon {__version__} runs the agents {', '.join(agents.names)}.")
        try:
            yield
        finally:
            await workers.close()

    run_agents(current, agents, report)


def _run(
    current: Current,
    listeners: Listeners,
    memory: ServerMemory,
    number: int = 0,
    folder: Path | None = None,
    has_agents: bool = False,
) -> None:
    """Run one of the processes that serve the port."""
    serving = _serve(current, listeners, memory, number, folder, has_agents)
    if uvloop := load_optional("uvloop"):
        uvloop.run(serving)
        return
    if not is_installed("speed"):
        log.info("uvloop is not installed, so each request takes more CPU: %s", command("speed"))
    asyncio.run(serving)


async def _serve(
    current: Current,
    listeners: Listeners,
    memory: ServerMemory,
    number: int,
    folder: Path | None,
    has_agents: bool,
) -> None:
    log_loop_errors()
    settings = current.settings
    reread = Reread(current)
    application = await build(settings, key_memory=memory)
    workers = _workers(application.gateway, number, folder) if folder else None
    watch: WatchServer | None = None
    try:
        limits = limits_of(settings)
        app = app_of(application, settings, limits, workers)
        if workers:
            await workers.start()
        has_websocket = settings.websocket and _can_open_websockets(number)
        host = UvicornHost(
            app,
            application,
            settings.grace,
            limits=limits,
            memory=application.parts.run.history.memory.size,
            has_websocket=has_websocket,
        )
        application.start()
        application.watch_loop()
        rereading = asyncio.create_task(reread.run(application))
        serving = asyncio.create_task(host.serve([listeners.api]))
        await host.listening.wait()
        if listeners.watch is not None:
            watched, _ = listen_address(settings.metrics_listen)
            watch = await serve_watchers(
                application, watched, listeners.watch, workers, has_metrics=settings.metrics
            )
        memory.was_ready = True
        if number == 0:
            if has_agents:
                await _await_agents(memory, serving)
            await _announce(current, listeners, application)
        # The objects that exist now are never freed: if the collector skips them, a request takes 6
        # % less CPU. A request leaves almost no cycles, so a collection after every 700 objects is
        # too frequent: 2 % less CPU.
        gc.freeze()
        gc.set_threshold(5_000)
        application.parts.run.offload.prepare = _return_freed_memory
        await serving
        rereading.cancel()
    finally:
        if watch is not None:
            await watch.close()
        if workers:
            await workers.close()
        await application.close()
        reread.close()


def _return_freed_memory() -> None:
    from antiphon.cli.heap import retain_freed_memory  # noqa: PLC0415 - only once large data comes

    retain_freed_memory()


def _can_open_websockets(number: int) -> bool:
    """Load the code of WebSockets.

    Without it the server answers an upgrade with 426, and the log has the reason.
    """
    problem = problem_with(WEBSOCKET)
    if problem and number == 0:
        log.error("WebSocket mode is not available: %s", problem)
    return not problem


def _workers(gateway: Gateway, number: int, folder: Path) -> Workers:
    name = str(number)
    return Workers(folder, name, metrics_topic(gateway, name), status_topic(gateway), log=log)


def _allow_connections() -> None:
    """Raise the limit of file descriptors to the maximum: a stream needs two, and the usual soft
    limit is 1,024.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


@contextmanager
def _listen(settings: Settings) -> Iterator[Listeners]:
    """Listen until the end of the block. Raises `ConfigError` if a port is not available."""
    with ExitStack() as stack:
        api = stack.enter_context(listener_at(settings.host, settings.port))
        if not settings.metrics_listen:
            yield Listeners(api)
            return
        host, port = listen_address(settings.metrics_listen)
        yield Listeners(api, stack.enter_context(listener_at(host, port, "metrics_listen")))


async def _await_agents(memory: ServerMemory, serving: "asyncio.Task[None]") -> None:
    """Wait until the worker of this server runs its agents; not for long, and not once the server
    ends.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(START):
            while not (memory.had_agents or serving.done()):  # noqa: ASYNC110 - another process sets it
                await asyncio.sleep(CHECK_EVERY)


async def _announce(current: Current, listeners: Listeners, application: Application) -> None:
    settings = current.settings
    port = listeners.api.getsockname()[1]
    for sentence in unknown_models(settings, application.parts.models):
        log.warning("%s Requests that need it fail.", sentence)
    agents = await _agents(application)
    for sentence in hidden_models(agents, application.parts.models):
        log.warning("%s", sentence)
    store = application.parts.store.url + (" (a new file)" if current.creates_store else "")
    url = f"http://{reachable(settings.host)}:{port}/v1"
    backend = application.parts.models.backends
    models = application.parts.models.list()
    parts = [
        f"base URL {url}",
        f"store {store}",
        *map(_describe, backend),
        *_tools(settings),
        *_code(application),
        *([f"agents {_some(agents)}"] if agents else []),
    ]
    if listeners.watch is not None:
        host, watch_port = listeners.watch.getsockname()[:2]
        parts.append(f"metrics at http://{reachable(host)}:{watch_port}/metrics")
    if settings.console and is_built():
        parts.append(f"console at {url.removesuffix('v1')}console/")
    needs_key = await application.parts.keys.are_needed()
    if not needs_key:
        parts.append("no API key, so only this machine has access")
    _print(f"Antiphon {__version__} is ready: " + "; ".join(parts))
    body = json.dumps({"model": models[0]["id"] if models else "MODEL", "input": "Hello!"})
    key = ' -H "authorization: Bearer $OPENAI_API_KEY"' if needs_key else ""
    _print(f"curl {url}/responses -H 'content-type: application/json'{key} -d {shlex.quote(body)}")


def _print(line: str) -> None:
    """Print a line without control characters: names of models come from backends."""
    print("".join(character for character in line if character.isprintable()), flush=True)  # noqa: T201 - the ready line


def _describe(backend: BackendState) -> str:
    name = f"backend {backend.backend.name}" + (
        f" at {redacted(backend.backend.url)}" if backend.backend.url else " (scripted)"
    )
    if backend.error == NOT_REQUESTED:
        return f"{name}: no list of models yet"
    if backend.error:
        return backend.error.rstrip(".")
    names = offered(backend)
    scripted = "" if backend.backend.url else ", a script for tests and no real model"
    return f"{name} with {_some(names) or 'no models'}{scripted}"


def _tools(settings: Settings) -> list[str]:
    """Return the tools in the settings."""
    labels = [one.label for one in settings.mcp_servers]
    servers = [f"MCP servers {_some(labels)}"] if labels else []
    images = f"images by {settings.images_model}"
    return [
        *servers,
        *([f"web search by {_searcher(settings)}"] if settings.web_search else []),
        *([images] if settings.images_model else []),
    ]


def _code(application: Application) -> list[str]:
    """Return the sandbox that runs code. A sandbox that does not work has its own warning."""
    state = application.parts.code_state() if application.parts.code_state is not None else None
    return [f"code in {state.sandbox}"] if state is not None and not state.problem else []


async def _agents(application: Application) -> Sequence[str]:
    """Return the agents of running workers, and those of the settings."""
    agents = application.parts.jobs.agents
    with suppress(StoreError):
        await agents.refresh(application.parts.store)
    return list(agents.names)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - DISPLAYED} more" if len(names) > DISPLAYED else ""
    return ", ".join(names[:DISPLAYED]) + more


def _searcher(settings: Settings) -> str:
    """Return the web search provider, and its URL if it is not the default."""
    name, separator, _ = settings.web_search.partition("://")
    url = urlsplit(settings.web_search if separator else settings.web_search_url)
    at = f" at {redacted(f'{url.scheme}://{url.netloc}')}" if url.netloc else ""
    return f"{'searxng' if separator else name}{at}"


def _warn_of_missing(settings: Settings) -> None:
    """Warn of programs in the settings that do not exist: otherwise the first request would find
    out.
    """
    programs = [one for one in settings.mcp_servers if one.command]
    if not programs:
        return
    import shutil  # noqa: PLC0415 - with three libraries of compression

    for one in programs:
        if shutil.which(one.command) is None:
            log.warning(
                "The MCP server '%s' will fail: its program '%s' is not on PATH. Install it, or "
                "correct `command`.",
                one.label,
                one.command,
            )
