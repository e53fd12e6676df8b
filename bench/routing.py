"""What choosing takes of one request, in this process and without a socket: who, a slot, health, the chain."""

import asyncio
import time

from antiphon.engine.models import Models
from antiphon.engine.routing.router import Router
from antiphon.engine.routing.served import Share
from antiphon.upstream.scripted import ScriptedBackend

_REQUESTS = 5_000


def microseconds(backends: int, concurrency: int = 0) -> float:
    """Return what it takes of processor time, in µs, with so many backends that have so many slots each."""
    return asyncio.run(_measured(backends, concurrency))


async def _measured(backends: int, concurrency: int) -> float:
    several = [ScriptedBackend([], models=["m"]) for _ in range(backends)]
    for number, one in enumerate(several):
        one.name = f"backend-{number}"
    shares = {one.name: Share(concurrency=concurrency) for one in several}
    router = Router(Models(several, time.time, shares=shares))
    await router.models.refresh()
    began = time.process_time()
    for number in range(_REQUESTS):
        chain = f"\0resp_{number}"
        route = await router.route("m", chain)
        route.renew()
        await route.enter()
        route.answered(chain)
        route.leave()
    return (time.process_time() - began) / _REQUESTS * 1e6
