"""Runs agents in this process: for `antiphon worker`, and for the worker of `antiphon serve`."""

import asyncio
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from antiphon.agents.execution import AgentWorker
from antiphon.agents.registration import Agent
from antiphon.build import Application, build
from antiphon.build.models import hidden_models
from antiphon.cli.logs import log_loop_errors
from antiphon.cli.reread import Current, Reread
from antiphon.config import Settings
from antiphon.errors import ConfigError, StoreError, log
from antiphon.packages import load_optional
from antiphon.storage.open import is_in_memory

CONCURRENCY = 16
"""Responses at the same time in a worker."""


def check_store(settings: Settings) -> None:
    """Raise `ConfigError` for a store that no server reaches."""
    if is_in_memory(settings.store):
        raise ConfigError(
            "The store is in memory, where no server reaches it. Set `store` to a file or a "
            "PostgreSQL database that the server uses too."
        )


Meanwhile = Callable[[Application], AbstractAsyncContextManager[None]]
"""What a process does besides, from the moment when clients can call its agents."""


def run_agents(current: Current, agents: AgentWorker, meanwhile: Meanwhile) -> None:
    """Run agents until SIGTERM or Ctrl-C."""
    running = _run(current, agents, meanwhile)
    if uvloop := load_optional("uvloop"):
        uvloop.run(running)
        return
    asyncio.run(running)


async def _run(current: Current, agents: AgentWorker, meanwhile: Meanwhile) -> None:
    log_loop_errors()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for received in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(received, stop.set)
    reread = Reread(current)
    application = await build(current.settings, agents=agents)
    try:
        application.start()
        application.watch_loop(agents.blame)
        rereading = asyncio.create_task(reread.run(application))
        with suppress(StoreError):  # servers know the agents from the next one
            await application.worker.beat()
        for sentence in hidden_models(agents.names, application.parts.models):
            log.warning("%s", sentence)
        async with meanwhile(application):
            await stop.wait()
            rereading.cancel()
            await application.drain()
    finally:
        await application.close()
        reread.close()


def agents_of(target: str) -> Sequence[Agent]:
    """Return the agents of a module, or of a name in it. Raises `ConfigError`."""
    module_name, _, name = target.partition(":")
    if (folder := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = import_module(module_name)
    except (Exception, SystemExit) as error:
        raise ConfigError(
            f"Cannot import the agents of {module_name}: {type(error).__name__}: {error}"
        ) from error
    if not name:
        found: Any = [one for one in vars(module).values() if isinstance(one, Agent)]
    elif (found := getattr(module, name, None)) is None:
        raise ConfigError(f"The module {module_name} has no agents named {name}.")
    agents = [found] if isinstance(found, Agent) else found
    if not isinstance(agents, list | tuple) or not agents:
        raise ConfigError(f"There are no agents in {target}. Use the decorator `agent`.")
    for one in agents:
        if not isinstance(one, Agent):
            raise ConfigError(
                f"{target} contains {type(one).__name__}, which is no agent. Use the decorator "
                "`agent`."
            )
    return agents
