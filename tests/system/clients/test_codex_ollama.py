"""Codex, unmodified, in front of an Ollama that reads 4,096 tokens by default and cuts the rest
silently.
"""

import json
from pathlib import Path

import pytest

from antiphon.upstream.http import HttpBackend
from antiphon.upstream.options import BackendOptions
from tests.support.fake_ollama import FakeOllama
from tests.support.server import serve
from tests.system.clients.codex import Codex

pytestmark = pytest.mark.timeout(200)


async def test_the_model_reads_all_that_codex_sends(tmp_path: Path) -> None:
    call = {
        "id": "call_1",
        "function": {"name": "exec_command", "arguments": {"cmd": "echo sum-$((40+2))"}},
    }
    server = FakeOllama(
        answers=[[{"content": "I add.", "tool_calls": [call]}], [{"content": "It is 42."}]]
    )
    async with server.serve() as ollama:
        shares = {"ollama": BackendOptions(api="auto")}
        async with serve(HttpBackend("ollama", ollama), shares=shares) as running:
            run = await Codex.within(tmp_path, running.url).run(model="qwen3")

    assert (run.stated, "sum-42" in run.printed) == (["I add.", "It is 42."], True)
    first, second = server.requests
    assert server.tokens(first) > 4_096
    assert [request["options"]["num_ctx"] for request in (first, second)] == server.loads * 2
    assert "sum-42" in json.dumps(second["messages"][-1])
