"""`/status`: how the backends are doing, for `antiphon status` and for programs on this machine."""

from starlette.types import Receive, Scope, Send

from antiphon.engine.engine import Engine
from antiphon.engine.status import Status, status_of, together
from antiphon.errors import ClientError
from antiphon.server.http import Resources, reply_json
from antiphon.server.local import is_local
from antiphon.server.siblings import Siblings, Topic


def resources(engine: Engine, siblings: Siblings | None = None) -> Resources:
    """Return what is served under which path; `siblings` are the processes that serve the same port."""

    async def get_status(scope: Scope, receive: Receive, send: Send) -> None:
        if not is_local(scope):
            text = "The status is shown to this machine alone, not through a proxy."
            raise ClientError(text, status=403, code="status_not_allowed")
        others = await siblings.others(topic(engine)) if siblings else []
        await reply_json(send, together([status_of(engine), *others]))

    return {"/status": {"GET": get_status}}


def topic(engine: Engine) -> Topic[Status]:
    """Return the topic of which processes that share a port tell each other."""
    return Topic("status", Status, lambda: status_of(engine))
