"""The server that is traced: the parts that `antiphon serve` builds by default, on a loop that
others use too.
"""

import asyncio
import gc
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from antiphon.build import build
from antiphon.build.hosting import limits_of
from antiphon.cli.logs import begin_log
from antiphon.cli.settings import read_settings
from antiphon.config import ModelConfig
from antiphon.http_server.host import UvicornHost
from antiphon.server.application import create_app
from bench.agents.history import SEAL_KEYS

RUN = "chunks"
"""The model of the backend whose chat completions become responses."""


@asynccontextmanager
async def running(backend: str, store: str, *, facts: bool = True) -> AsyncIterator[int]:
    """Serve the backend at this URL with a store at that one; gives the port.

    `facts` is the setting.
    """
    settings = read_settings(None, [backend], host="127.0.0.1", port=0, store=store, workers=None)
    settings.facts = facts
    settings.models = [ModelConfig(name=RUN, chat_completions="run")]
    settings.seal_keys = [SEAL_KEYS]  # it opens the reasoning in the bodies of agents
    begin_log(settings)
    application = await build(settings, {})
    limits = limits_of(settings)
    app = create_app(
        application.gateway,
        application.endpoints,
        has_websocket=True,
        has_metrics=True,
        limits=limits,
        has_console=True,
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host = UvicornHost(
            app, application, 1, limits=limits, memory=application.parts.run.history.memory.size
        )
        application.start()
        application.watch_loop()
        serving = asyncio.create_task(host.serve([listener]))
        await host.listening.wait()
        gc.collect()
        gc.freeze()
        gc.set_threshold(5_000)
        try:
            yield listener.getsockname()[1]
        finally:
            serving.cancel()
            with suppress(asyncio.CancelledError):
                await serving
            await application.close()
