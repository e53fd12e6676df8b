"""Tools of real MCP servers: listed, and called."""

import asyncio
import json
import sys
from collections.abc import Callable

import pytest

from antiphon.config import McpServerConfig
from antiphon.protocol.items.content import InputImage, InputText
from antiphon.protocol.tools import McpTool
from tests.integration.tools.mcp.support import at, call, names, program, using
from tests.support.mcp_server import PNG, TOOLS, McpServer, mcp_serving, tool
from tests.support.waiting import eventually, let_others_run

WAYS: dict[str, Callable[[McpServer], str]] = {
    "streamable http": lambda server: server.url,
    "events beside posts": lambda server: server.sse_url,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_old", [False, True])
async def test_tools_are_listed_and_called(way: str, is_old: bool) -> None:
    async with mcp_serving(is_old=is_old, page=4) as server, using() as servers:
        requested = at(WAYS[way](server))
        servers.check(requested)
        listing = await servers.list(requested)
        outcome = await call(servers, requested, "add", a=1, b=2)
    assert listing.error == ""
    assert names(listing.tools) == [one.name for one in TOOLS]
    assert listing.tools[0] == {
        "name": "add",
        "description": "Add two numbers.",
        "input_schema": {
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            "required": ["a", "b"],
        },
        "annotations": {"readOnlyHint": True},
    }
    assert (outcome.stated, outcome.fields, outcome.is_failed) == (
        "3",
        {"output": "3", "error": None},
        False,
    )


@pytest.mark.wide
async def test_a_program_in_the_settings_is_started_and_called() -> None:
    async with using(program()) as servers:
        requested = McpTool(server_label="program")
        servers.check(requested)
        listing = await servers.list(requested)
        outcome = await call(servers, requested, "echo", text="hello\nworld")
    assert names(listing.tools) == [one.name for one in TOOLS]
    assert outcome.fields == {"output": "hello\nworld", "error": None}


@pytest.mark.wide
async def test_a_program_that_starts_slowly_is_called_in_its_own_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "antiphon.tools.mcp.session.UNDERSTANDING", 0.01
    )  # no program starts so soon
    async with using(program()) as servers:
        outcome = await call(servers, McpTool(server_label="program"), "add", a=1, b=2)
    assert outcome.fields == {"output": "3", "error": None}


@pytest.mark.parametrize(
    ("transport", "url", "first"),
    [
        ("http", "url", "server/discover"),
        ("sse", "sse_url", "server/discover"),
        ("auto", "url", "server/discover"),
    ],
)
async def test_a_configured_server_is_called_as_configured(
    transport: str, url: str, first: str
) -> None:
    async with mcp_serving(token="sk-of-the-settings") as server:
        configured = McpServerConfig(
            label="kept", url=getattr(server, url), transport=transport, key_env="KEPT_KEY"
        )  # type: ignore[arg-type]
        async with using(configured, environment={"KEPT_KEY": "sk-of-the-settings"}) as servers:
            outcome = await call(servers, McpTool(server_label="kept"), "add", a=2, b=2)
    assert outcome.fields["output"] == "4"
    assert server.requested[0] == first


async def test_a_connector_is_the_server_that_the_settings_name_for_it() -> None:
    async with mcp_serving() as server:
        mail = McpServerConfig(label="mail", url=server.url, connector="connector_gmail")
        async with using(mail) as servers:
            requested = McpTool(
                server_label="whatever", connector_id="connector_gmail", authorization="ya29.token"
            )
            outcome = await call(servers, requested, "add", a=1, b=1)
    assert outcome.fields["output"] == "2"
    assert {headers["authorization"] for headers in server.headers} == {"Bearer ya29.token"}


async def test_unreadable_content_is_summarised_and_images_are_sent_to_the_model() -> None:
    async with mcp_serving() as server, using() as servers:
        image = await call(servers, at(server.url), "image")
        resource = await call(servers, at(server.url), "resource")
        alone = await call(servers, at(server.url), "structured")
    assert image.fields == {"output": f"A dot:\n[image/png, {len(PNG)} bytes]", "error": None}
    text, displayed = image.stated
    assert isinstance(text, InputText)
    assert isinstance(displayed, InputImage)
    assert str(displayed.image_url).startswith("data:image/png;base64,iVBOR")
    assert resource.fields["output"] == "what was noted\nmore: file:///more.txt"
    assert json.loads(alone.fields["output"]) == {"sum": 3}


async def test_a_failed_tool_has_its_reason_for_the_model_and_in_the_item() -> None:
    async with mcp_serving() as server, using() as servers:
        outcome = await call(servers, at(server.url), "fail")
    error = {
        "type": "mcp_tool_execution_error",
        "content": [{"type": "text", "text": "it does not work"}],
    }
    assert (outcome.is_failed, outcome.fields) == (True, {"output": None, "error": error})
    assert "it does not work" in outcome.stated


@pytest.mark.parametrize("is_old", [False, True])
async def test_an_error_of_the_protocol_keeps_its_code_and_message(is_old: bool) -> None:
    async with mcp_serving(is_old=is_old) as server, using() as servers:
        outcome = await call(servers, at(server.url), "broken")
    message = "There is no working 'broken' here."
    error = {"type": "mcp_protocol_error", "code": -32001, "message": message}
    assert (outcome.is_failed, outcome.fields) == (True, {"output": None, "error": error})
    assert message in outcome.stated


async def test_a_server_that_elicits_user_input_is_informed_that_no_user_is_present() -> None:
    async with mcp_serving() as server, mcp_serving(is_old=True) as old, using() as servers:
        outcome = await call(servers, at(server.url), "ask")
        before = await call(servers, at(old.url), "ask")
    assert outcome.fields["error"]["type"] == "mcp_protocol_error"
    assert "requires input from its user" in outcome.fields["error"]["message"]
    assert before.fields["output"] == "refused: Elicitation not supported"


async def test_a_long_result_is_cut_and_reports_how_much_is_missing() -> None:
    async with mcp_serving() as server, using() as servers:
        outcome = await call(servers, at(server.url), "big", size=123_456)
    output = outcome.fields["output"]
    assert output == "x" * 100_000 + "\n[23,456 more characters are omitted]"
    assert outcome.stated == output


@pytest.mark.parametrize("way", WAYS)
async def test_a_refused_authorization_is_an_error_of_http(way: str) -> None:
    async with mcp_serving(token="right") as server, using() as servers:
        requested = at(WAYS[way](server), authorization="wrong")
        listing = await servers.list(requested)
        outcome = await call(servers, requested, "count")
    assert "HTTP status 401" in listing.error
    assert outcome.fields["error"]["type"] == "http_error"
    assert outcome.fields["error"]["code"] == 401
    assert server.counted == 0


@pytest.mark.parametrize("way", WAYS)
async def test_a_server_that_is_not_there_is_an_error_of_http_without_a_status(way: str) -> None:
    async with mcp_serving() as server, using() as servers:
        await server.stop()
        requested = at(WAYS[way](server))
        listing = await servers.list(requested)
        outcome = await call(servers, requested, "add", a=1, b=1)
    message = "The MCP server 'tests' failed: it is unreachable."
    assert (list(listing.tools), listing.error) == ([], message)
    assert outcome.fields == {
        "output": None,
        "error": {"type": "http_error", "code": 0, "message": message},
    }
    assert outcome.is_failed


@pytest.mark.parametrize("way", WAYS)
async def test_a_call_that_times_out_is_cancelled_at_the_server(way: str) -> None:
    async with mcp_serving() as server, using(timeout=0.5, list_ttl=0) as servers:
        requested = at(WAYS[way](server))
        await servers.list(requested)
        outcome = await call(servers, requested, "slow")
        after = await servers.list(requested)
    assert outcome.fields["error"] == {
        "type": "http_error",
        "code": 0,
        "message": "The MCP server 'tests' did not answer within 0.5 seconds.",
    }
    assert server.called == [("slow", {})]
    assert after.error == ""


async def test_a_server_of_the_settings_may_have_a_time_of_its_own() -> None:
    async with mcp_serving() as server:
        configured = McpServerConfig(label="hasty", url=server.url, timeout=0.2)
        async with using(configured) as servers:
            outcome = await call(servers, McpTool(server_label="hasty"), "slow")
    assert "within 0.2 seconds" in outcome.fields["error"]["message"]


async def test_a_program_that_cannot_start_is_reported_in_plain_words() -> None:
    async with using(McpServerConfig(label="none", command="/nowhere/at-all")) as servers:
        listing = await servers.list(McpTool(server_label="none"))
    assert listing.error == "The MCP server 'none' cannot be started: No such file or directory."


async def test_a_program_that_exits_at_once_is_reported_in_plain_words() -> None:
    async with using(
        McpServerConfig(label="brief", command=sys.executable, args=["-c", "1"])
    ) as servers:
        listing = await servers.list(McpTool(server_label="brief"))
    assert listing.error == "The MCP server 'brief' failed: its program exited with status 0."


async def test_a_program_gets_the_variables_that_are_named_and_no_others(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    seen = tmp_path_factory.mktemp("seen") / "environment.json"
    script = f"import json, os; json.dump(dict(os.environ), open({str(seen)!r}, 'w'))"
    configured = McpServerConfig(
        label="spy", command=sys.executable, args=["-c", script], env=["WANTED"]
    )
    async with using(
        configured, environment={"WANTED": "yes", "OPENAI_API_KEY": "sk-secret"}
    ) as servers:
        await servers.list(McpTool(server_label="spy"))
    environment = json.loads(seen.read_text())
    assert environment["WANTED"] == "yes"
    assert not environment.keys() & {"OPENAI_API_KEY", "PYTHONPATH", "ANTIPHON_STORE"}


async def test_lists_are_requested_once_for_all_waiters_and_again_when_outdated() -> None:
    async with mcp_serving() as server:
        async with using() as servers:
            found = await asyncio.gather(*(servers.list(at(server.url)) for _ in range(20)))
            assert {len(one.tools) for one in found} == {len(TOOLS)}
            assert server.times("tools/list") == 1
            await servers.list(at(server.url))
            assert server.times("tools/list") == 1
        async with using(list_ttl=0) as servers:
            await servers.list(at(server.url))
            await servers.list(at(server.url))
            assert server.times("tools/list") == 3


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_old", [False, True])
async def test_a_server_with_changed_tools_is_listed_again(way: str, is_old: bool) -> None:
    async with mcp_serving(is_old=is_old) as server, using() as servers:
        requested = at(WAYS[way](server))
        await servers.list(requested)
        await server.change(tool("new", "A new one."))
        await eventually(lambda: servers.list(requested), lambda one: names(one.tools) == ["new"])


async def test_other_credentials_and_other_tenants_send_their_own_requests() -> None:
    async with mcp_serving() as server, using() as servers:
        await servers.list(at(server.url), "one")
        await servers.list(at(server.url), "two")
        await servers.list(at(server.url, authorization="a"), "one")
        await servers.list(at(server.url, authorization="b"), "one")
        await servers.list(at(server.url, headers={"x-key": "c"}), "one")
        assert server.times("tools/list") == 5
        await servers.list(at(server.url, headers={"X-Key": "c"}), "one")
        assert server.times("tools/list") == 5


async def test_a_cancelled_waiter_for_a_list_leaves_it_to_the_others() -> None:
    async with mcp_serving() as server, using() as servers:
        impatient = asyncio.create_task(servers.list(at(server.url)))
        patient = asyncio.create_task(servers.list(at(server.url)))
        await let_others_run()
        impatient.cancel()
        assert len((await patient).tools) == len(TOOLS)
        assert impatient.cancelled()
