"""A backend's answer is recognised by its first byte, whatever its content type says and whatever
was requested.
"""

import asyncio
import json
from typing import Any

import pytest

from antiphon.upstream.http import HttpBackend
from antiphon.upstream.options import BackendOptions
from tests.support.pair import BODY, KEY, Script
from tests.support.replay import JSON, STREAM, Answer, ReplayBackend, completion, delta, sse, text
from tests.support.server import RunningServer, serve

LABELS = (JSON, STREAM, "text/plain; charset=utf-8", "application/octet-stream", "")
FORMS = {
    "JSON": completion("High water."),
    "JSON and the end of a stream": completion("High water.") + b"\ndata: [DONE]\n\n",
    "a stream": text("High", " water."),
    "a stream after a comment": b": processing\n\n" + text("High", " water."),
}


async def answered(script: Script, **more: Any) -> dict[str, Any]:
    """The response, streamed or not."""
    async with ReplayBackend(script).serve() as backend:
        shares = {"a": BackendOptions(models=frozenset({"m"}))}
        async with serve(HttpBackend("a", backend.url, KEY), shares=shares) as server:
            return await response_of(server, **more)


async def response_of(server: RunningServer, **more: Any) -> dict[str, Any]:
    async with server.http.post(server.url + "/responses", json={**BODY, **more}) as reply:
        data = await reply.read()
    if not more.get("stream"):
        whole: dict[str, Any] = json.loads(data)
        return whole
    last: dict[str, Any] = json.loads(
        [line[6:] for line in data.split(b"\n") if line.startswith(b"data: {")][-1]
    )
    return last["response"]


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("is_stream", [False, True])
async def test_an_answer_is_read_in_its_own_form(label: str, form: str, is_stream: bool) -> None:
    response = await answered(lambda _: Answer([FORMS[form]], label), stream=is_stream)
    assert response["status"] == "completed"
    assert response["output"][0]["content"][0]["text"] == "High water."


async def test_a_stream_that_is_labelled_as_json_arrives_as_it_is_written() -> None:
    rest = asyncio.Event()
    first = sse(delta(content="High"), done=False)
    script = Answer([first], JSON, wait=rest, rest=[text(" water.")])
    shares = {"a": BackendOptions(models=frozenset({"m"}))}
    async with (
        asyncio.timeout(10),
        ReplayBackend(lambda _: script).serve() as backend,
        serve(HttpBackend("a", backend.url, KEY), shares=shares) as server,
        server.http.post(server.url + "/responses", json={**BODY, "stream": True}) as reply,
    ):
        data = b""
        while b"output_text.delta" not in data:
            data += await reply.content.readany()
        rest.set()
        data += await reply.read()
    assert b"response.completed" in data
