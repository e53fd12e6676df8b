"""What Claude Code and other clients have sent is accepted, and answered in the grammar."""

import json
from typing import Any

import pytest

from tests.support.messages_recordings import CASES, SENT
from tests.support.messages_server import post
from tests.support.messages_stream import violations
from tests.support.replay import ReplayBackend
from tests.support.server import RunningServer

AGENTS = "x-claude-code-agent-id"


def sent() -> list[Any]:
    provided = [pytest.param(*one, id=one[0]) for one in SENT] or [
        pytest.param("", {}, marks=pytest.mark.skip("no recordings are at hand"))
    ]
    cases = [pytest.param("/messages", json.loads(one.read_text()), id=one.stem) for one in CASES]
    return [*provided, *cases]


@pytest.mark.parametrize(("path", "body"), sent())
async def test_a_request_that_a_client_has_sent_is_answered(
    server: RunningServer, backend: ReplayBackend, path: str, body: dict[str, Any]
) -> None:
    body = {**body, "model": "m"}
    if "count_tokens" in path:
        counted = await post(server, "/messages/count_tokens", **{"max_tokens": None, **body})
        assert counted.status == 200, counted.body
        assert backend.requests == []
        return
    async with server.http.post(f"{server.url}/messages?beta=true", json=body) as response:
        received = await response.read()
        assert response.status == 200, received
    if body.get("stream"):
        assert violations(received) == []
    else:
        assert json.loads(received)["type"] == "message"
