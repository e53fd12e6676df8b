"""`/healthz`: the process lives. `/readyz`: it can serve, its store answers and a backend was reached."""

from starlette.types import Receive, Scope, Send

from antiphon.engine.engine import Engine
from antiphon.errors import StoreError
from antiphon.server.http import Resources, reply_json


def resources(engine: Engine) -> Resources:
    """Return what is served under which path."""

    async def is_alive(scope: Scope, receive: Receive, send: Send) -> None:
        await reply_json(send, {"status": "ok"})

    async def is_ready(scope: Scope, receive: Receive, send: Send) -> None:
        checks = {"store": await _answers(engine), "backends": await _is_reached(engine)}
        if not engine.takes_work:
            checks["stopping"] = True
        ready = engine.takes_work and all(checks.values())
        await reply_json(send, {"status": "ok" if ready else "unavailable", **checks}, 200 if ready else 503)

    return {"/healthz": {"GET": is_alive}, "/readyz": {"GET": is_ready}}


async def _answers(engine: Engine) -> bool:
    try:
        await engine.store.check()
    except StoreError:
        return False
    return True


async def _is_reached(engine: Engine) -> bool:
    if all(served.error for served in engine.models.backends):
        await engine.models.refresh()
    return not all(served.error for served in engine.models.backends)
