"""Requests a response for this server's own use: complete, not stored, in a separate task."""

from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.response import Response
from antiphon.recording.persistence import RequestIdentity
from antiphon.runs.engine import Engine
from antiphon.runs.prepare import prepare
from antiphon.runs.run import Run


async def respond(engine: Engine, request: CreateResponse, tenant: str) -> Response:
    """Return the response to this request. Raises `AntiphonError` if it fails."""
    plan = await prepare(engine, request, engine.ticket(RequestIdentity(tenant=tenant)))
    return await Run(plan, engine).result()
