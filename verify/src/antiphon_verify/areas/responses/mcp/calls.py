"""The tools of an MCP server are listed and called, streamed and not streamed, now and in the next
turn.
"""

import json
from typing import Any

from antiphon_verify.areas.responses.chain import id_of
from antiphon_verify.areas.responses.hosted import steps_of
from antiphon_verify.areas.responses.mcp.items import (
    CALL,
    LIST,
    LOSING_PROMPT,
    PROMPT,
    Item,
    called,
    has_texts,
    is_object,
    items_of,
    listed_tools,
    received_calls,
    respond,
)
from antiphon_verify.case import case
from antiphon_verify.exchange import parsed
from antiphon_verify.mcp import LOOKUP, LOSE, LOST, TOOLS, row, shelf
from antiphon_verify.reading import at, is_text, listed, preview
from antiphon_verify.replies import streams
from antiphon_verify.replies.bodies import MESSAGE
from antiphon_verify.replies.responses import mcp as replies
from antiphon_verify.requirement import capability, must, should
from antiphon_verify.soundness import STREAM_IDS, judge_stream
from antiphon_verify.trial import Steps, Trial


def is_listed_whole(item: Item, tool: dict[str, Any]) -> bool:
    """Whether a list has this tool of the server unchanged."""
    found = [one for one in listed(item, "tools") if at(one, "name") == tool["name"]]
    expected = (tool["description"], tool["inputSchema"])
    return (
        len(found) == 1 and (at(found[0], "description"), at(found[0], "input_schema")) == expected
    )


@case(
    must(
        "responses:mcp:list-item",
        "spec 5",
        "A list of tools is an item with an id, the server's label, "
        "and tools with names and schemas.",
        fault=replies.with_list(tools=[{"name": "lookup"}]),
    ),
    must(
        "responses:mcp:list-before",
        "spec 16",
        "The tool list comes before the model's output.",
        fault=[replies.with_output(MESSAGE, replies.LIST, replies.CALL, MESSAGE), replies.ONCE[1]],
    ),
    should(
        "responses:mcp:list-whole",
        "spec 5",
        "The tool list has every tool with its description and its schema.",
        fault=replies.with_list(tools=replies.LIST["tools"][:1]),
    ),
    capability(
        should(
            "responses:mcp:used",
            "spec 16",
            "The model calls the tool of an MCP server when prompted to.",
            fault=[replies.with_output(replies.LIST, MESSAGE)],
        )
    ),
    must(
        "responses:mcp:call-item",
        "spec 5",
        "A call is an item with an id, a status, the server's label, the tool's name "
        "and its arguments.",
        fault=replies.with_call(server_label=None),
    ),
    must(
        "responses:mcp:call-arguments",
        "spec 5",
        "The arguments of a call are those that the MCP server received.",
        fault=replies.with_call(arguments='{"word":"other"}'),
    ),
    must(
        "responses:mcp:call-output",
        "spec 5",
        "The output of a call is what the MCP server returned.",
        fault=replies.with_call(output=f"It is on shelf 1. {row('antiphon')}"),
    ),
    should(
        "responses:mcp:call-structured",
        "issue memos#6226",
        "The output of a call has the structured content that its text does not have.",
        fault=replies.with_call(output=shelf("antiphon")),
    ),
    must(
        "responses:mcp:call-once",
        "spec 16",
        "The MCP server receives as many calls as there are call items.",
        fault=[replies.WITH_CALL, replies.received("antiphon", "antiphon")],
    ),
    must(
        "responses:mcp:goes-on",
        "spec 16",
        "After its calls a response continues to its end, and is completed.",
        fault=[replies.with_output(replies.LIST, replies.CALL), replies.ONCE[1]],
    ),
    good=replies.ONCE,
)
def an_mcp_tool_is_called(trial: Trial) -> Steps:
    """Request a call of an MCP server's tool."""
    response = yield from respond(trial, "/call")
    kinds = [at(item, "type") for item in listed(response, "output")]
    listing = listed_tools(response)
    have_schemas = all(
        is_text(at(one, "name")) and isinstance(at(one, "input_schema"), dict)
        for one in listing["tools"]
    )
    trial.expect(
        "responses:mcp:list-item",
        has_texts(listing) and have_schemas and bool(listing["tools"]),
        listing,
    )
    trial.expect("responses:mcp:list-before", kinds.count(LIST) == 1 and kinds[0] == LIST, kinds)
    trial.expect(
        "responses:mcp:list-whole", all(is_listed_whole(listing, tool) for tool in TOOLS), listing
    )
    trial.expect("responses:mcp:used", CALL in kinds, kinds)
    calls = called(response)
    received = yield from received_calls(trial, "/call")
    are_whole = all(
        has_texts(one, "status", "name", "arguments") and is_object(one["arguments"])
        for one in calls
    )
    trial.expect("responses:mcp:call-item", are_whole, calls)
    trial.expect(
        "responses:mcp:call-once",
        len(received) == len(calls),
        f"{len(received)} calls for {len(calls)} items",
    )
    arguments = sorted(json.dumps(at(one, "arguments"), sort_keys=True) for one in received)
    passed = sorted(
        json.dumps(parsed(str(one.get("arguments")).encode()), sort_keys=True, default=repr)
        for one in calls
    )
    trial.expect(
        "responses:mcp:call-arguments",
        arguments == passed,
        f"{preview(passed)} for {preview(arguments)}",
    )
    resolved = [
        one
        for one in calls
        if one.get("name") == LOOKUP["name"] and one.get("status") == "completed"
    ]
    words = [at(parsed(str(one.get("arguments")).encode()), "word") for one in resolved]
    pairs = [(str(word), str(one.get("output"))) for word, one in zip(words, resolved, strict=True)]
    trial.expect(
        "responses:mcp:call-output", all(shelf(word) in output for word, output in pairs), calls
    )
    trial.expect(
        "responses:mcp:call-structured", all(row(word) in output for word, output in pairs), calls
    )
    trial.expect(
        "responses:mcp:goes-on",
        at(response, "status") == "completed" and kinds[-1] == "message",
        kinds,
    )


@case(
    must(
        "responses:mcp:list-order",
        "spec 16",
        "The steps of a tool list are in progress, completed.",
        fault=[replies.WITH_CALL, replies.without_events("mcp_list_tools.in_progress")],
    ),
    must(
        "responses:mcp:call-order",
        "spec 16",
        "The steps of a call are in progress, arguments, completed.",
        fault=[replies.WITH_CALL, replies.without_events("mcp_call.in_progress")],
    ),
    must(
        "responses:mcp:streamed-same",
        "spec 7",
        "Streamed MCP items have the same keys as those not streamed.",
        fault=[
            replies.with_output(replies.LIST, replies.CALL | {"call_id": "call_1"}, MESSAGE),
            streams(replies.EVENTS),
        ],
    ),
    asides=STREAM_IDS,
    good=[replies.WITH_CALL, streams(replies.EVENTS)],
)
def an_mcp_tool_is_called_in_a_stream(trial: Trial) -> Steps:
    """Request a call of an MCP server's tool, streamed and not streamed."""
    plain = yield from respond(trial, "/plain")
    exchange = yield from trial.respond(PROMPT, tools=[trial.mcp_tool("/streamed")], stream=True)
    events = trial.streamed(exchange)
    judge_stream(trial, events)
    response = trial.found(events, -1, "response")
    listed_tools(response)
    steps = steps_of(events, f"response.{LIST}.")
    trial.expect("responses:mcp:list-order", steps == ["in_progress", "completed"], steps)
    calls = called(response)
    steps = [one for one in steps_of(events, f"response.{CALL}") if one != "_arguments.delta"]
    expected = [".in_progress", "_arguments.done", ".completed"]
    if all(one.get("status") == "completed" for one in calls):
        trial.expect("responses:mcp:call-order", steps == expected * len(calls), steps)
    pairs = [(items_of(plain, kind), items_of(response, kind)) for kind in (LIST, CALL)]
    keys = [[set(one[0]) if one else set() for one in pair] for pair in pairs]
    trial.expect(
        "responses:mcp:streamed-same", all(one == other for one, other in keys), [*map(repr, keys)]
    )


@case(
    must(
        "responses:mcp:list-once",
        "issue ogx#4452",
        "The next turn of a chain does not list the tools again.",
        fault=[replies.WITH_CALL, replies.with_output(replies.LIST, MESSAGE)],
    ),
    good=[replies.WITH_CALL, replies.WITH_TEXT],
)
def the_next_turn_knows_the_tools(trial: Trial) -> Steps:
    """Continue a response that listed tools."""
    first = yield from respond(trial, "/once")
    tools = [trial.mcp_tool("/once")]
    exchange = yield from trial.respond(
        "Thank you.", tools=tools, previous_response_id=id_of(first)
    )
    again = trial.response(exchange)
    trial.expect("responses:mcp:list-once", not items_of(again, LIST), exchange.came)


@case(
    must(
        "responses:mcp:list-given",
        "issue ogx#4452",
        "MCP items sent back as input are accepted, and their tools are not listed again.",
        fault=[replies.WITH_CALL, replies.REJECTED],
    ),
    good=[replies.WITH_CALL, replies.WITH_TEXT],
)
def items_of_tools_are_sent_back(trial: Trial) -> Steps:
    """Send the items of a response that used tools as input of the next, with nothing stored."""
    first = yield from respond(trial, "/given", more={"store": False})
    history = [
        {"role": "user", "content": PROMPT},
        *listed(first, "output"),
        {"role": "user", "content": "Thank you."},
    ]
    exchange = yield from trial.respond(history, tools=[trial.mcp_tool("/given")], store=False)
    is_known = exchange.is_ok and not items_of(exchange.json, LIST)
    trial.expect("responses:mcp:list-given", is_known, exchange.came)


@case(
    must(
        "responses:mcp:error-item",
        "spec 5",
        "A failed tool call has the status `failed`, an error with the tool's message, "
        "and no output.",
        fault=[replies.with_output(replies.LIST, replies.FAILED | {"error": LOST}, MESSAGE)],
    ),
    must(
        "responses:mcp:error-goes-on",
        "spec 16",
        "A failed tool call does not fail the response.",
        fault=[replies.with_output(replies.LIST, replies.FAILED, status="failed")],
    ),
    good=[replies.with_output(replies.LIST, replies.FAILED, MESSAGE)],
)
def an_mcp_tool_fails(trial: Trial) -> Steps:
    """Request a call of a tool that fails."""
    response = yield from respond(trial, "/error", LOSING_PROMPT, allowed_tools=[LOSE["name"]])
    calls = called(response)
    are_reported = all(
        one.get("status") == "failed"
        and at(one, "error", "type") == "mcp_tool_execution_error"
        and LOST in preview(at(one, "error", "content"))
        and one.get("output") is None
        for one in calls
    )
    trial.expect("responses:mcp:error-item", are_reported, calls)
    trial.expect(
        "responses:mcp:error-goes-on", at(response, "status") == "completed", at(response, "status")
    )
