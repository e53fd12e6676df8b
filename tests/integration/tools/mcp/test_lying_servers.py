"""Servers that say what is not so: a sound list or plain words come of it, in bounded time."""

import gc
import gzip
import json
import logging
import sys
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from typing import Any

import msgspec
import pytest
from aiohttp import web

from antiphon.config.settings import McpServerConfig
from antiphon.protocol.tools import McpTool
from antiphon.tools.base import ToolListing
from antiphon.tools.mcp.lists import Lists
from antiphon.tools.mcp.servers import McpServers
from tests.integration.tools.mcp.raw import Content, raw, serving
from tests.integration.tools.mcp.support import at, call, names, using

GOOD = {"name": "good", "inputSchema": {"type": "object"}}


def page(*tools: Any, **more: Any) -> dict[str, Any]:
    return {"tools": list(tools), **more}


@pytest.mark.parametrize(
    "bad",
    [
        7,
        None,
        {"name": "x"},
        {"inputSchema": {"type": "object"}},
        {"name": 7, "inputSchema": {"type": "object"}},
        {"name": "", "inputSchema": {"type": "object"}},
        {"name": "two words", "inputSchema": {"type": "object"}},
        {"name": "line\nbreak", "inputSchema": {"type": "object"}},
        {"name": "n" * 129, "inputSchema": {"type": "object"}},
        {"name": "listed", "inputSchema": []},
        {"name": "text", "inputSchema": "{}"},
        {"name": "huge", "inputSchema": {"type": "object", "description": "x" * 200_000}},
    ],
)
async def test_what_is_no_tool_is_left_out_of_the_list(bad: Any) -> None:
    async with raw(lambda method, params: page(bad, GOOD)) as server, using() as servers:
        listing = await servers.list(at(server.url))
    assert (names(listing.tools), listing.error) == (["good"], "")


@pytest.mark.parametrize(
    ("schema", "sound"),
    [
        ({}, {"type": "object"}),
        ({"type": "string"}, {"type": "object"}),
        ({"properties": [], "required": "x"}, {"type": "object"}),
        ({"properties": {"a": 1, "b": {}}}, {"type": "object", "properties": {"b": {}}}),
        ({"$schema": 7, "title": 8}, {"type": "object", "title": 8}),
        ({"required": ["a", 1]}, {"type": "object", "required": ["a"]}),
        ({"$defs": {"a": {"type": "null"}}}, {"$defs": {"a": {"type": "null"}}, "type": "object"}),
    ],
)
async def test_a_schema_of_no_object_is_wrapped_in_one(schema: Any, sound: Any) -> None:
    async with (
        raw(lambda method, params: page({"name": "x", "inputSchema": schema})) as server,
        using() as servers,
    ):
        listing = await servers.list(at(server.url))
    assert [tool["input_schema"] for tool in listing.tools] == [sound]


async def test_a_schema_as_deep_as_the_sea_is_left_out() -> None:
    depth = 150
    deep = '{"type":"object","not":' * depth + "{}" + "}" * depth
    tools = json.dumps([GOOD])[:-1] + ',{"name":"deep","inputSchema":' + deep + "}]"

    def send(method: str, params: Mapping[str, Any]) -> Content:
        return {"tools": json.loads(tools)}

    async with raw(send) as server, using() as servers:
        listing = await servers.list(at(server.url))
    assert names(listing.tools) == ["good"]


DEEP = '{"type":"object","not":' * 200 + "{}" + "}" * 200
PAGE = (
    '{"tools":[{"name":"deep","inputSchema":'
    + DEEP
    + '},{"name":"good","inputSchema":{"type":"object"}}]}'
)


async def test_one_tool_too_deep_for_the_sdk_costs_no_list_of_events() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        message = await request.json() if request.method == "POST" else {}
        if message.get("method") == "tools/list":
            text = (
                "event: message\ndata: "
                f'{{"jsonrpc":"2.0","id":{message["id"]},"result":{PAGE}}}\n\n'
            )
            return web.Response(text=text, content_type="text/event-stream")
        return await quiet.answer(request)

    async with (
        raw(lambda method, params: None) as quiet,
        serving(answer) as host,
        using() as servers,
    ):
        listing = await servers.list(at(f"{host}/mcp"))
    assert (names(listing.tools), listing.error) == (["good"], "")


PROGRAM = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    head = '{"jsonrpc":"2.0","id":' + json.dumps(message["id"]) + ',"result":'
    info = {"name": "x", "version": "1"}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    if message["method"] == "server/discover":
        print(head[:-9] + '"error":{"code":-32601,"message":"Method not found"}}', flush=True)
    elif message["method"] == "initialize":
        print(head + json.dumps(hello) + "}", flush=True)
    else:
        print(head + PAGE + "}", flush=True)
"""


async def test_one_tool_too_deep_for_the_sdk_costs_no_list_of_a_program() -> None:
    code = f"PAGE = {PAGE!r}\n{PROGRAM}"
    configured = McpServerConfig(label="deep", command=sys.executable, args=["-c", code])
    async with using(configured) as servers:
        listing = await servers.list(McpTool(server_label="deep"))
    assert (names(listing.tools), listing.error) == (["good"], "")


async def test_the_first_of_two_tools_of_one_name_is_used() -> None:
    twice = page({**GOOD, "description": "first"}, {**GOOD, "description": "second"})
    async with raw(lambda method, params: twice) as server, using() as servers:
        listing = await servers.list(at(server.url))
    assert [tool["description"] for tool in listing.tools] == ["first"]


async def test_a_description_of_a_megabyte_is_cut_and_other_fields_of_wrong_types_are_left_out() -> (  # noqa: E501 - one text, or a row of a table
    None
):
    wordy = {
        **GOOD,
        "description": "y" * 1_000_000,
        "annotations": {"title": 3, "readOnlyHint": True, "x": "y"},
    }
    silent = {
        **GOOD,
        "name": "silent",
        "description": 7,
        "annotations": "none",
        "icons": 3,
        "outputSchema": 4,
    }
    async with raw(lambda method, params: page(wordy, silent)) as server, using() as servers:
        first, second = (await servers.list(at(server.url))).tools
    assert first["description"] == "y" * 3_999 + "…"
    assert first["annotations"] == {"readOnlyHint": True}
    assert (second["description"], second["annotations"]) == (None, None)


async def test_characters_that_no_database_takes_are_left_out() -> None:
    def send(method: str, params: Mapping[str, Any]) -> Content:
        if method == "tools/list":
            return page(
                {**GOOD, "description": "a\0b", "inputSchema": {"type": "object", "x\0": ["\0y"]}}
            )
        return {"content": [{"type": "text", "text": "c\0d"}]}

    async with raw(send) as server, using() as servers:
        (tool,) = (await servers.list(at(server.url))).tools
        outcome = await call(servers, at(server.url), "good")
    assert (tool["description"], tool["input_schema"]["x"]) == ("ab", ["y"])
    assert outcome.fields["output"] == "cd"


async def test_an_endless_list_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("antiphon.tools.mcp.session.MAX_PAGES", 50)
    pages = count()
    async with (
        raw(lambda method, params: page(GOOD, nextCursor=str(next(pages)))) as server,
        using() as servers,
    ):
        listing = await servers.list(at(server.url))
    assert listing.error.endswith(" more than 50 pages.")


async def test_a_list_that_leads_in_a_circle_is_used_so_far_and_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "antiphon")
    async with (
        raw(lambda method, params: page(GOOD, nextCursor="again")) as server,
        using(list_ttl=0) as servers,
    ):
        for _ in range(2):
            listing = await servers.list(at(server.url))
            assert (names(listing.tools), listing.error) == (["good"], "")
    assert server.requested.count("tools/list") == 4
    assert sum("cursor" in record.getMessage() for record in caplog.records) == 1


@pytest.mark.wide
async def test_five_thousand_tools_are_listed_and_more_are_refused() -> None:
    many = [{**GOOD, "name": f"t{number}"} for number in range(5_001)]
    start = iter((many[:5_000], many))
    async with (
        raw(lambda method, params: page(*next(start))) as server,
        using(list_ttl=0) as servers,
    ):
        first = await servers.list(at(server.url))
        second = await servers.list(at(server.url))
    assert (len(first.tools), first.error) == (5_000, "")
    assert second.error == "The MCP server 'tests' lists more than 5,000 tools."


async def test_a_page_of_many_megabytes_is_not_read_to_its_end() -> None:
    big = b'{"jsonrpc":"2.0","id":1,"result":{"tools":["' + b"x" * (20 * 2**20)

    def send(method: str, params: Mapping[str, Any]) -> Content:
        return web.Response(body=big, content_type="application/json")

    async with raw(send) as server, using() as servers:
        listing = await servers.list(at(server.url))
    assert listing.error == "The MCP server 'tests' failed: its response has more than 2 MiB."


async def test_pages_that_are_big_together_are_not_read_to_their_end() -> None:
    pages = count()

    def send(method: str, params: Mapping[str, Any]) -> Content:
        return page(GOOD, x="x" * 2**20, nextCursor=str(next(pages)))

    async with raw(send) as server, using() as servers:
        listing = await servers.list(at(server.url))
    assert "more than 2 MiB" in listing.error
    assert next(pages) < 20


async def test_an_answer_that_was_packed_unasked_is_not_unpacked() -> None:
    packed = gzip.compress(b'{"jsonrpc":"2.0","id":1,"result":{"tools":["' + b"x" * 2**20)

    def send(method: str, params: Mapping[str, Any]) -> Content:
        return web.Response(
            body=packed, content_type="application/json", headers={"content-encoding": "gzip"}
        )

    async with raw(send) as server, using() as servers:
        listing = await servers.list(at(server.url))
    assert "its response is compressed" in listing.error
    assert {request.headers["accept-encoding"] for request in server.requests} == {"identity"}


@pytest.mark.parametrize(
    "answer",
    [
        {"status": 500, "text": "<html>oh dear</html>"},
        {"status": 503, "body": b"{}"},
        {"status": 200, "text": "<html>hello</html>", "content_type": "text/html"},
        {"status": 200, "text": "not json", "content_type": "application/json"},
        {"status": 200, "text": "[" * 100_000, "content_type": "application/json"},
        {
            "status": 200,
            "text": '{"jsonrpc":"2.0","id":99,"result":{}}',
            "content_type": "application/json",
        },
        {"status": 200, "text": "data: nonsense\n\n", "content_type": "text/event-stream"},
        {"status": 200, "text": "", "content_type": "text/event-stream"},
        {"status": 200, "text": "id: 1\nretry: 0\ndata:\n\n", "content_type": "text/event-stream"},
        {"status": 202},
        {"status": 204},
        {"status": 302, "headers": {"location": "/elsewhere"}},
    ],
    ids=lambda answer: str(answer)[:60],
)
async def test_whatever_is_no_answer_is_an_error_in_bounded_time(answer: Mapping[str, Any]) -> None:
    async with (
        raw(lambda method, params: web.Response(**answer)) as server,
        using(timeout=0.3) as servers,
    ):
        outcome = await call(servers, at(server.url), "good")
        after = await call(servers, at(server.url), "good")
    for one in (outcome, after):
        assert one.is_failed
        assert one.fields["error"]["type"] in {"http_error", "mcp_protocol_error"}
        assert one.fields["error"]["message"]
        assert len(str(one.stated)) < 3_000


@pytest.mark.parametrize(
    ("result", "output"),
    [
        ({}, ""),
        ({"content": 7}, ""),
        ({"content": [7, None, "x"]}, ""),
        (
            {"content": [{"type": "hologram"}]},
            "[content of the type 'hologram', which cannot be shown]",
        ),
        (
            {"content": [{"type": "text", "text": 7}]},
            "[content of the type 'text', which cannot be shown]",
        ),
        ({"content": [{"type": "resource", "resource": {}}]}, "[an invalid resource]"),
        (
            {"content": [{"type": "image", "data": "%%%", "mimeType": "image/png"}]},
            "[image/png, 2 bytes]",
        ),
        ({"content": [], "structuredContent": [1, 2]}, "[1,2]"),
        (
            {"content": [{"type": "text", "text": "a"}], "structuredContent": 3, "isError": "yes"},
            "a\n3",
        ),
    ],
)
async def test_a_result_that_is_half_sound_is_read_as_far_as_it_is(
    result: Any, output: str
) -> None:
    async with raw(lambda method, params: result) as server, using() as servers:
        outcome = await call(servers, at(server.url), "good")
    assert outcome.fields == {"output": output, "error": None}


async def test_an_errors_words_are_bounded() -> None:
    error = {"jsonrpc": "2.0", "id": 3, "error": {"code": -1, "message": "w" * 100_000}}

    def send(method: str, params: Mapping[str, Any]) -> Content:
        if params["name"] == "protocol":
            return web.json_response(error)
        return {"content": [{"type": "text", "text": "w" * 500_000}], "isError": True}

    async with raw(send) as server, using() as servers:
        protocol = await call(servers, at(server.url), "protocol")
        tool = await call(servers, at(server.url), "tool")
    assert len(protocol.fields["error"]["message"]) == 2_000
    assert len(tool.fields["error"]["content"][0]["text"]) == 100_000


async def test_a_list_that_does_not_arrive_times_out_and_is_soon_retried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("antiphon.tools.mcp.servers.LIST_TIMEOUT", 1.0)
    async with raw(lambda method, params: None) as server, using() as servers:
        listing = await servers.list(at(server.url))
        await servers.list(at(server.url))
    assert listing.error == "The MCP server 'tests' did not answer within 1 seconds."
    assert server.requested.count("tools/list") == 1


async def size(servers: McpServers, url: str) -> int:
    """How many arguments the first tool has."""
    return len((await servers.list(at(url))).tools[0]["input_schema"]["properties"])


@pytest.mark.wide
async def test_only_the_json_of_a_huge_list_is_in_memory() -> None:
    schema = {"type": "object", "properties": {f"p{number}": {} for number in range(4321)}}
    listed = msgspec.json.encode({"tools": [{"name": "x", "inputSchema": schema}]}).decode()
    del schema

    async def answer(request: web.Request) -> web.StreamResponse:
        message = await request.json() if request.method == "POST" else {}
        if message.get("method") == "tools/list":
            text = f'{{"jsonrpc": "2.0", "id": {message["id"]}, "result": {listed}}}'
            return web.Response(text=text, content_type="application/json")
        return await quiet.answer(request)

    async with (
        raw(lambda method, params: None) as quiet,
        serving(answer) as host,
        using() as servers,
    ):
        sizes = [await size(servers, f"{host}/mcp?{number}") for number in (*range(5), 0)]
        gc.collect()
        retained = sum(isinstance(each, dict) and len(each) == 4321 for each in gc.get_objects())
    assert sizes == [4321] * 6
    assert retained <= 1  # the last one is perhaps still in somebody's hand


async def test_lists_are_known_up_to_a_number_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("antiphon.tools.mcp.lists.MAX_CACHED", 2_500)
    requested: list[str] = []
    lists = Lists(60)

    def request(name: str, size: int) -> Callable[[], Awaitable[ToolListing]]:
        async def answer() -> ToolListing:
            requested.append(name)
            return ToolListing([{"name": name, "description": "d" * size}])

        return answer

    for name, size in [
        ("a", 1000),
        ("b", 1000),
        ("a", 1000),
        ("c", 1000),
        ("b", 1000),
        ("a", 1000),
        ("d", 5000),
    ]:
        assert (await lists.get((name, ""), request(name, size))).tools[0]["name"] == name
    await lists.get(("d", ""), request("d", 5000))
    await lists.get(("a", ""), request("a", 1000))
    assert requested == ["a", "b", "c", "a", "d", "d"]
