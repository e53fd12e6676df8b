"""Requests that ask a model, on behalf of a key: its limits are looked at first, and told in the reply's headers."""

from starlette.types import Scope

from antiphon.engine.engine import Engine
from antiphon.engine.limits import Weigh
from antiphon.engine.meter import Grant
from antiphon.server.access import api_key_of
from antiphon.server.http import HEADERS


async def admit(engine: Engine, scope: Scope, model: str, weigh: Weigh) -> Grant:
    """Return leave to ask the model, for `with`. Raises what `Meter.admit` raises, and 401 for a key that has ended."""
    key = await api_key_of(scope)
    grant = await engine.meter.admit(key, model, weigh)
    if grant.headers:
        scope[HEADERS] = [(name.encode(), value.encode()) for name, value in grant.headers.items()]
    return grant
