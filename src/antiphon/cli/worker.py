"""`antiphon worker`: a process that runs your agents."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Annotated

import typer

from antiphon.agents.execution import AgentWorker
from antiphon.build import Application
from antiphon.cli.agents import CONCURRENCY, agents_of, check_store, run_agents
from antiphon.cli.flags import BackendFlag, ConfigFlag, StoreFlag
from antiphon.cli.listeners import listener_at, serve_watchers
from antiphon.cli.logs import begin_log
from antiphon.cli.reread import Current
from antiphon.cli.settings import read_settings
from antiphon.config import Settings, listen_address
from antiphon.version import __version__


def worker(
    target: Annotated[
        str,
        typer.Argument(
            metavar="MODULE",
            help="The module of the agents, or MODULE:NAME for an agent or a list of agents in it.",
        ),
    ],
    concurrency: Annotated[
        int, typer.Option(metavar="N", min=1, help="Responses at the same time.")
    ] = CONCURRENCY,
    metrics_listen: Annotated[
        str | None,
        typer.Option(
            "--metrics-listen",
            metavar="ADDRESS",
            help="Address and port for /metrics and /healthz of this worker. Default: none.",
        ),
    ] = None,
    store: StoreFlag = None,
    backend: BackendFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Run your agents.

    Clients call your agents as models, on any server of the same store; the worker computes the
    responses. It runs until it receives SIGTERM or Ctrl-C, and then another worker continues its
    background responses.

    Examples:
      antiphon worker app
      antiphon worker app:agents --concurrency 64
      antiphon worker app:refunds --store postgresql://antiphon@db/antiphon
    """

    def read() -> Settings:
        return read_settings(config, backend, store=store)

    current = Current(read(), read)
    check_store(current.settings)
    agents = AgentWorker(agents_of(target), concurrency)
    begin_log(current.settings)
    host, port = listen_address(metrics_listen) if metrics_listen else ("", 0)
    listener = listener_at(host, port, "--metrics-listen") if metrics_listen else None

    @asynccontextmanager
    async def announce(application: Application) -> AsyncIterator[None]:
        async with AsyncExitStack() as closing:
            if listener is not None:
                watch = await serve_watchers(application, host, listener)
                closing.push_async_callback(watch.close)
            # Not that of the settings, which can have a password.
            names, url = ", ".join(agents.names), application.parts.store.url
            print(f"Antiphon {__version__} runs the agents {names} of {url}.", flush=True)  # noqa: T201 - the ready line
            yield

    run_agents(current, agents, announce)
