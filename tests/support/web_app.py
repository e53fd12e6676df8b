"""Applications of aiohttp that tests serve on a port of their own."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web


@asynccontextmanager
async def serving_app(
    app: web.Application, tls: ssl.SSLContext | None = None, *, handler_cancellation: bool = False
) -> AsyncIterator[str]:
    """Serve it, and give its origin.

    Handlers that still run at the end are cancelled, not waited for.

    With `handler_cancellation` a handler is also cancelled when its client leaves.
    """
    runner = web.AppRunner(
        app, access_log=None, shutdown_timeout=0.01, handler_cancellation=handler_cancellation
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=512, ssl_context=tls).start()
        yield f"{'https' if tls else 'http'}://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
