"""Requests a response for this server's own use: complete, not stored, in a separate task."""

from antiphon.protocol.requests import CreateResponse
from antiphon.protocol.response import Response
from antiphon.recording.persistence import RequestIdentity, identified
from antiphon.runs.parts import RunParts
from antiphon.runs.prepare import prepare
from antiphon.runs.run import Run


async def respond(parts: RunParts, request: CreateResponse, tenant: str) -> Response:
    """Return the response to this request. Raises `AntiphonError` if it fails."""
    plan = await prepare(parts, request, identified(RequestIdentity(tenant=tenant), parts.new_id))
    return await Run(plan, parts).result()
