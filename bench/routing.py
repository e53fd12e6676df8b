"""What choosing takes of one request, in this process and without a socket: who, a slot, health,
the chain.
"""

import asyncio
import time

from antiphon.upstream.options import BackendOptions
from antiphon.upstream.registry import ModelRegistry
from antiphon.upstream.router import Router
from antiphon.upstream.scripted import ScriptedBackend

_REQUESTS = 5_000


def microseconds(backends: int, concurrency: int = 0) -> float:
    """Return what it takes of processor time, in µs, with so many backends that have so many slots
    each.
    """
    return asyncio.run(_measured(backends, concurrency))


async def _measured(backends: int, concurrency: int) -> float:
    several = [ScriptedBackend([], models=["m"]) for _ in range(backends)]
    for number, one in enumerate(several):
        one.name = f"backend-{number}"
    shares = {one.name: BackendOptions(concurrency=concurrency) for one in several}
    router = Router(ModelRegistry(several, time.time, options=shares))
    await router.registry.refresh()
    began = time.process_time()
    for number in range(_REQUESTS):
        chain = f"\0resp_{number}"
        route = await router.route("m", chain)
        route.reselect()
        await route.acquire()
        route.succeeded(chain)
        route.release()
    return (time.process_time() - began) / _REQUESTS * 1e6
