"""Codex, unmodified, against the server: it runs the tools that the model calls, whatever kind they
are of.
"""

import base64
import json
import sys
from pathlib import Path

import pytest

from antiphon.config import Settings
from antiphon.upstream.demo.backend import DemoBackend
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.parts import called, stated
from tests.support.server import serve
from tests.support.small_web import small_web
from tests.system.clients.codex import PROMPT, Codex
from tests.system.clients.model import Call, Model, Turn
from tests.system.clients.relay import Relay

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(400)]

TIDES = Path(__file__).parent / "tide_server.py"
PATCH = "*** Begin Patch\n*** Add File: hello.txt\n+hello from a patch\n*** End Patch\n"
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="  # noqa: E501 - one text, or a row of a table
FULL = 250_000
"""Tokens with which the window of gpt-5.5 is so full that Codex compacts."""


def shell(script: str) -> Call:
    return Call("exec_command", {"cmd": script})


@pytest.fixture
def codex(wire: Relay, model: Model, tmp_path: Path) -> Codex:
    model.cue = PROMPT
    return Codex.within(tmp_path, wire.url)


async def test_a_text_is_displayed(codex: Codex, model: Model) -> None:
    model.play(Turn("Good morning, Dover.", reasoning="It is early."))
    assert (await codex.run()).stated == ["Good morning, Dover."]


async def test_a_command_is_run(codex: Codex, model: Model) -> None:
    model.play(Turn(calls=(shell("echo sum-$((40+2))"),)), Turn("Done."))
    run = await codex.run()
    assert "sum-42" in run.printed
    assert "sum-42" in model.sent_to()
    assert run.stated == ["Done."]


async def test_demo_runs_the_commands_that_the_user_spells_out_and_no_other(tmp_path: Path) -> None:
    async with serve(DemoBackend()) as server:
        codex = Codex.within(tmp_path, server.url)
        requested = await codex.run(prompt="Please run pwd", model="demo")
        spelled_out = await codex.run(
            prompt='call exec_command {"cmd": "echo sum-$((40+2))"}', model="demo"
        )

    assert requested.done("command_execution") == []
    assert "You said: Please run pwd" in requested.stated[-1]
    assert "sum-42" in spelled_out.printed
    assert "sum-42" in spelled_out.stated[-1]


async def test_two_commands_are_run_at_once(codex: Codex, model: Model) -> None:
    model.play(Turn(calls=(shell("echo sum-$((1+1))"), shell("echo sum-$((1+2))"))), Turn("Done."))
    run = await codex.run()
    assert len(run.done("command_execution")) == 2
    assert [stated in model.sent_to() for stated in ("sum-2", "sum-3")] == [True, True]


async def test_a_patch_is_applied_that_comes_from_a_custom_tool(codex: Codex, model: Model) -> None:
    model.play(Turn(calls=(Call("apply_patch", PATCH),)), Turn("Done."))
    run = await codex.run(model="gpt-5.5")
    assert (codex.work / "hello.txt").read_text() == "hello from a patch\n"
    assert [change["kind"] for one in run.done("file_change") for change in one["changes"]] == [
        "add"
    ]
    assert run.stated == ["Done."]


async def test_tools_that_come_with_the_input_are_run(
    codex: Codex, wire: Relay, model: Model
) -> None:
    script = "const run = await tools.exec_command({cmd: 'echo sum-$((40+2))'}); text(run.output)"
    model.play(Turn(calls=(Call("exec", script, "functions"),)), Turn("Done."))
    run = await codex.run(model="gpt-5.6-sol")
    assert b'"additional_tools"' in wire.sent
    assert "sum-42" in run.printed
    assert "sum-42" in model.sent_to()


@pytest.mark.parametrize("name", ["fake-model", "gpt-5.5"])
async def test_the_web_is_searched_and_a_page_opened(tmp_path: Path, name: str) -> None:
    async with small_web() as web:
        page = f"{web.site}/harbour"
        answers = [
            called("web_search", '{"query": "harbour Brest"}'),
            called("open_page", json.dumps({"url": page}), "call_2"),
            stated("High water is at nine [1]."),
        ]
        settings = Settings(web_search=web.searxng, outgoing_networks=["127.0.0.1"])
        async with serve(
            ScriptedBackend(answers, models=[name]), settings=settings, has_tools=True
        ) as server:
            run = await Codex.within(tmp_path, server.url).run(model=name)
    assert [search["action"]["type"] for search in run.done("web_search")] == [
        "search",
        "open_page",
    ]
    assert web.requested == ["/harbour"]
    assert run.stated == ["High water is at nine [1]."]


async def test_a_tool_of_an_mcp_server_is_run(codex: Codex, model: Model) -> None:
    model.play(Turn(calls=(Call("tide_at", {"place": "Dover"}, "mcp__tides"),)), Turn("Done."))
    server = (
        f"mcp_servers.tides={{command={json.dumps(sys.executable)},"
        f"args=[{json.dumps(str(TIDES))}]}}"
    )
    run = await codex.run("-c", server)
    assert [
        (call["server"], call["tool"], call["status"]) for call in run.done("mcp_tool_call")
    ] == [("tides", "tide_at", "completed")]
    assert "high in Dover at 14:05" in model.sent_to()


async def test_another_agent_is_spawned(codex: Codex, model: Model) -> None:
    spawn = Call("spawn_agent", {"message": "Look at the tide."}, "multi_agent_v1")
    model.play(Turn(calls=(spawn,)), Turn("Done."))
    run = await codex.run()
    (call,) = run.done("collab_tool_call")
    assert (call["tool"], call["status"], call["prompt"]) == (
        "spawn_agent",
        "completed",
        "Look at the tide.",
    )
    assert len(call["receiver_thread_ids"]) == 1
    assert "Done." in run.stated


async def test_a_tool_that_was_searched_for_is_run(codex: Codex, model: Model) -> None:
    search = Call("tool_search", {"query": "spawn an agent", "limit": 4})
    spawn = Call("spawn_agent", {"message": "Look at the tide."}, "multi_agent_v1")
    model.play(Turn(calls=(search,)), Turn(calls=(spawn,)), Turn("Done."))
    run = await codex.run(model="gpt-5.5")
    assert [call["status"] for call in run.done("collab_tool_call")] == ["completed"]
    assert [
        sum("spawn_agent" in name for name in model.offered_to(number)) for number in (0, 1)
    ] == [0, 1]
    assert "Done." in run.stated


async def test_an_image_reaches_the_model(codex: Codex, model: Model) -> None:
    (codex.work / "dot.png").write_bytes(base64.b64decode(DOT))
    model.play(
        Turn(calls=(Call("view_image", {"path": str(codex.work / "dot.png")}),)), Turn("A dot.")
    )
    assert (await codex.run()).stated == ["A dot."]
    assert f"data:image/png;base64,{DOT}" in model.sent_to()


async def test_reasoning_comes_back_sealed(codex: Codex, wire: Relay, model: Model) -> None:
    model.play(Turn(reasoning="I count.", calls=(shell("echo one"),)), Turn("Done."))
    run = await codex.run()
    assert b'"store":false' in wire.sent
    assert [message.get("reasoning_content") for message in model.requests[-1]["messages"]].count(
        "I count."
    ) == 1
    assert run.stated == ["Done."]


async def test_a_websocket_serves_the_whole_run(codex: Codex, wire: Relay, model: Model) -> None:
    model.play(Turn(calls=(shell("echo sum-$((40+2))"),)), Turn("Done."))
    run = await codex.run(model="gpt-5.5", websockets=True)
    assert "sum-42" in model.sent_to()
    assert run.stated == ["Done."]
    assert "Falling back" not in f"{run.events}{run.complaints}"
    assert b"101 Switching Protocols" in wire.received
    assert b"POST " not in wire.sent  # which it would fall back to


async def test_an_answer_keeps_to_a_schema(codex: Codex, model: Model, tmp_path: Path) -> None:
    schema = {
        "type": "object",
        "properties": {"place": {"type": "string"}},
        "required": ["place"],
        "additionalProperties": False,
    }
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(schema))
    model.play(Turn('{"place": "Dover"}'))
    run = await codex.run("--output-schema", str(file), model="gpt-5.5")
    assert run.stated == ['{"place": "Dover"}']
    assert model.requests[-1]["response_format"]["json_schema"]["schema"] == schema


async def test_it_compacts_by_itself_when_the_window_is_full(
    codex: Codex, wire: Relay, model: Model
) -> None:
    model.play(
        Turn(calls=(shell("echo one"),), total_tokens=FULL), Turn("We said one."), Turn("Done.")
    )
    run = await codex.run(model="gpt-5.5")
    assert b"compaction_trigger" not in wire.sent
    assert "We said one." in model.sent_to()
    assert run.stated == ["Done."]


@pytest.mark.parametrize("websockets", [False, True])
async def test_the_server_compacts_when_configured(
    codex: Codex, wire: Relay, model: Model, websockets: bool
) -> None:
    """A provider that is called OpenAI is told to; Codex fails the turn unless exactly one
    compaction item comes.
    """
    model.play(
        Turn(calls=(shell("echo one"),), total_tokens=FULL), Turn("We said one."), Turn("Done.")
    )
    run = await codex.run(model="gpt-5.5", provider="OpenAI", websockets=websockets)
    assert (b"101 Switching Protocols" in wire.received) is websockets
    assert wire.sent.count(b'"compaction_trigger"') == (
        not websockets
    )  # frames on a WebSocket are masked
    assert len(model.requests) == 3
    assert "We said one." in model.sent_to()
    assert run.stated == ["Done."]
