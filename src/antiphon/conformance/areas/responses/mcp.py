"""Tools of an MCP server: the run's own, which the tested server lists and calls."""

import json
from collections.abc import Generator
from typing import Any

from antiphon.conformance.areas.responses.chain import id_of
from antiphon.conformance.areas.responses.hosted import mcp, steps_of
from antiphon.conformance.case import Case, Script, case
from antiphon.conformance.exchange import Exchange, Step, parsed
from antiphon.conformance.mcp import LOOKUP, LOSE, LOST, TOOLS, shelf
from antiphon.conformance.reading import MISSING, at, is_text, listed, shown
from antiphon.conformance.refusal import message_of
from antiphon.conformance.requirement import Stop, Table, capability, must, should
from antiphon.conformance.soundness import STREAM_IDS, judge_stream
from antiphon.conformance.trial import Steps, Trial

TABLE: Table = (
    must(
        "responses:mcp:list-item",
        "spec 5",
        "A list of tools is an item with an id, the server's label, and tools with names and schemas.",
    ),
    must("responses:mcp:list-before", "spec 16", "The tools are listed before the model's output."),
    should("responses:mcp:list-whole", "spec 5", "The list has every tool with its description and its schema."),
    must("responses:mcp:list-once", "issue ogx#4452", "What a chain has listed is not listed again in its next turn."),
    must(
        "responses:mcp:list-given",
        "issue ogx#4452",
        "Items of tools, sent back as input, are taken, and what they list is not listed again.",
    ),
    must(
        "responses:mcp:call-item",
        "spec 5",
        "A call is an item with an id, a status, the server's label, the tool's name and its arguments.",
    ),
    must("responses:mcp:call-arguments", "spec 5", "A call's arguments are those that the MCP server got."),
    must("responses:mcp:call-output", "spec 5", "A call's output is what the MCP server answered."),
    must("responses:mcp:call-once", "spec 16", "The MCP server is called as often as items say."),
    must("responses:mcp:goes-on", "spec 16", "After its calls a response goes on to its end, and is completed."),
    must("responses:mcp:list-order", "spec 16", "A list is in progress, then completed."),
    must("responses:mcp:call-order", "spec 16", "A call is in progress, gets its arguments, then is completed."),
    must("responses:mcp:streamed-same", "spec 7", "Streamed items of tools have the keys of plain ones."),
    must(
        "responses:mcp:error-item",
        "spec 5",
        "A tool's failure is its call's: status `failed`, an error with the tool's words, no output.",
    ),
    must("responses:mcp:error-goes-on", "spec 16", "A tool's failure does not fail the response."),
    must("responses:mcp:approval-default", "spec 6", "Without `require_approval` nothing is called unasked."),
    must(
        "responses:mcp:approval-item",
        "spec 5",
        "A request for approval is an item with an id, the server's label, the tool's name and its arguments.",
    ),
    must("responses:mcp:approval-ends", "spec 16", "A request for approval ends the response, which is completed."),
    must("responses:mcp:approved", "spec 16", "What was approved is called, as it was asked for."),
    must("responses:mcp:approved-id", "spec 5", "The call names the request in `approval_request_id`."),
    must("responses:mcp:denied", "spec 16", "What was denied is not called."),
    must("responses:mcp:denied-goes-on", "spec 16", "After a denial the response goes on, and is completed."),
    should("responses:mcp:approval-unknown", "spec 13", "The approval of a request that is not there is refused."),
    must("responses:mcp:approval-always", "spec 6", "Tools under `always` in `require_approval` are asked for."),
    must("responses:mcp:approval-never", "spec 6", "Tools under `never` in `require_approval` are called unasked."),
    must("responses:mcp:allowed-names", "spec 6", "With names in `allowed_tools` only these are listed."),
    should("responses:mcp:allowed-read-only", "spec 6", "With `read_only` in `allowed_tools` only such are listed."),
    must("responses:mcp:authorization-sent", "spec 6", "The MCP server gets `authorization` as a bearer token."),
    must("responses:mcp:headers-sent", "spec 6", "The MCP server gets the tool's `headers`."),
    must("responses:mcp:secrets-hidden", "spec 6", "Neither `authorization` nor a header's value is told back."),
    must("responses:mcp:secrets-hidden-stored", "spec 6", "Neither of them is in the stored response."),
    must("responses:mcp:secrets-hidden-streamed", "spec 6", "Neither of them is in any event."),
    must("responses:mcp:choice", "spec 6", "A `tool_choice` of an MCP tool has it called."),
    should("responses:mcp:choice-unknown", "spec 13", "A `tool_choice` of a label that no tool has is refused."),
    must("responses:mcp:max-tool-calls", "spec 2", "No more calls are made than `max_tool_calls` allows."),
    must("responses:mcp:no-address", "spec 13", "An MCP tool without URL and connector is refused with a 4xx."),
    must("responses:mcp:no-label", "spec 13", "An MCP tool without a label is refused with a 4xx."),
    should("responses:mcp:same-label", "spec 13", "Two MCP tools of one label are refused with a 4xx."),
    capability(should("responses:mcp:used", "spec 16", "The model calls an MCP server's tool where it is asked to.")),
)


Item = dict[str, Any]

LIST, CALL, REQUEST = "mcp_list_tools", "mcp_call", "mcp_approval_request"

ASKED = "On which shelf is the word antiphon? Use the tool lookup."

ASKED_TO_LOSE = "Take the word antiphon from its shelf. Use the tool lose."

UNREACHED = "The server did not list the tools of the MCP server that a run brings along: "

LEFT_OUT = "The MCP tool was left out: there is no list of its server's tools."

UNUSED = "The model called no tool."

Answered = Generator[Step, Any, dict[str, Any]]


def items_of(value: Any, kind: str) -> list[Item]:
    """Return a response's output items of a type."""
    return [item for item in listed(value, "output") if at(item, "type") == kind]


def listed_tools(response: dict[str, Any]) -> Item:
    """Return the list of tools. Ends the case where the server lists none, or could not."""
    lists = items_of(response, LIST)
    if not lists:
        raise Stop("not offered", LEFT_OUT)
    if at(lists[0], "error"):
        raise Stop("skipped", f"{UNREACHED}{shown(at(lists[0], 'error'))}")
    return lists[0]


def reached(trial: Trial, exchange: Exchange) -> dict[str, Any]:
    """Return a response whose MCP server was reached. Ends the case where it was not."""
    is_about_tools = str(at(exchange.json, "error", "param")).startswith("tools")
    trial.offered(exchange)
    if 400 <= exchange.status < 500 and is_about_tools:
        raise Stop("skipped", f"{UNREACHED}{message_of(exchange)[:200]}")
    response = trial.response(exchange)
    listed_tools(response)
    return response


def respond(trial: Trial, path: str, input: Any = ASKED, *, more: Any = None, **fields: Any) -> Answered:
    """Create a response with the run's MCP server at a path; `fields` are the tool's, `more` the request's."""
    exchange = yield from trial.respond(input, tools=[trial.mcp_tool(path, **fields)], **(more or {}))
    return reached(trial, exchange)


def calls_heard(trial: Trial, path: str) -> Generator[Step, Any, list[Item]]:
    """Return what the MCP server was asked to call under a path."""
    exchange = yield from trial.heard(path)
    heard = exchange.json if isinstance(exchange.json, list) else []
    return [at(message, "params") for message in heard if at(message, "method") == "tools/call"]


def called(response: dict[str, Any]) -> list[Item]:
    """Return the calls. Ends the case where the model made none."""
    calls = items_of(response, CALL)
    if not calls:
        raise Stop("skipped", UNUSED)
    return calls


def asked_for(response: dict[str, Any]) -> list[Item]:
    """Return the requests for approval. Ends the case where the model made no call."""
    requests = items_of(response, REQUEST)
    if not requests:
        raise Stop("skipped", UNUSED)
    return requests


def has_texts(item: Item, *names: str) -> bool:
    """Whether an item has all of these, each a string with something in it."""
    return all(is_text(item.get(name)) for name in ("id", "server_label", *names))


def is_object(text: Any) -> bool:
    """Whether a text is a JSON object."""
    return isinstance(text, str) and isinstance(parsed(text.encode()), dict)


def names_of(tools: list[Any]) -> set[Any]:
    """Return the names of listed tools."""
    return {at(tool, "name") for tool in tools}


def is_told(item: Item, tool: dict[str, Any]) -> bool:
    """Whether a list has this tool of the server's as it is."""
    told = [one for one in listed(item, "tools") if at(one, "name") == tool["name"]]
    wanted = (tool["description"], tool["inputSchema"])
    return len(told) == 1 and (at(told[0], "description"), at(told[0], "input_schema")) == wanted


@case(
    "responses:mcp:list-item",
    "responses:mcp:list-before",
    "responses:mcp:list-whole",
    "responses:mcp:used",
    "responses:mcp:call-item",
    "responses:mcp:call-arguments",
    "responses:mcp:call-output",
    "responses:mcp:call-once",
    "responses:mcp:goes-on",
)
def an_mcp_tool_is_called(trial: Trial) -> Steps:
    """Have a tool of an MCP server called."""
    response = yield from respond(trial, "/call")
    kinds = [at(item, "type") for item in listed(response, "output")]
    listing = listed_tools(response)
    have_schemas = all(
        is_text(at(one, "name")) and isinstance(at(one, "input_schema"), dict) for one in listing["tools"]
    )
    trial.expect("responses:mcp:list-item", has_texts(listing) and have_schemas and bool(listing["tools"]), listing)
    trial.expect("responses:mcp:list-before", kinds.count(LIST) == 1 and kinds[0] == LIST, kinds)
    trial.expect("responses:mcp:list-whole", all(is_told(listing, tool) for tool in TOOLS), listing)
    trial.expect("responses:mcp:used", CALL in kinds, kinds)
    calls = called(response)
    heard = yield from calls_heard(trial, "/call")
    are_whole = all(has_texts(one, "status", "name", "arguments") and is_object(one["arguments"]) for one in calls)
    trial.expect("responses:mcp:call-item", are_whole, calls)
    trial.expect("responses:mcp:call-once", len(heard) == len(calls), f"{len(heard)} calls for {len(calls)} items")
    said = sorted(json.dumps(at(one, "arguments"), sort_keys=True) for one in heard)
    told = sorted(json.dumps(parsed(str(one.get("arguments")).encode()), sort_keys=True, default=repr) for one in calls)
    trial.expect("responses:mcp:call-arguments", said == told, f"{shown(told)} for {shown(said)}")
    looked_up = [one for one in calls if one.get("name") == LOOKUP["name"] and one.get("status") == "completed"]
    words = [at(parsed(str(one.get("arguments")).encode()), "word") for one in looked_up]
    pairs = zip(words, looked_up, strict=True)
    are_said = all(isinstance(one.get("output"), str) and shelf(str(word)) in one["output"] for word, one in pairs)
    trial.expect("responses:mcp:call-output", are_said, calls)
    trial.expect("responses:mcp:goes-on", at(response, "status") == "completed" and kinds[-1] == "message", kinds)


@case("responses:mcp:list-order", "responses:mcp:call-order", "responses:mcp:streamed-same", asides=STREAM_IDS)
def an_mcp_tool_is_called_in_a_stream(trial: Trial) -> Steps:
    """Have a tool of an MCP server called, plain and in a stream."""
    plain = yield from respond(trial, "/plain")
    exchange = yield from trial.respond(ASKED, tools=[trial.mcp_tool("/streamed")], stream=True)
    events = trial.streamed(exchange)
    judge_stream(trial, events)
    response = trial.found(events, -1, "response")
    listed_tools(response)
    steps = steps_of(events, f"response.{LIST}.")
    trial.expect("responses:mcp:list-order", steps == ["in_progress", "completed"], steps)
    calls = called(response)
    steps = [one for one in steps_of(events, f"response.{CALL}") if one != "_arguments.delta"]
    wanted = [".in_progress", "_arguments.done", ".completed"]
    if all(one.get("status") == "completed" for one in calls):
        trial.expect("responses:mcp:call-order", steps == wanted * len(calls), steps)
    pairs = [(items_of(plain, kind), items_of(response, kind)) for kind in (LIST, CALL)]
    keys = [[set(one[0]) if one else set() for one in pair] for pair in pairs]
    trial.expect("responses:mcp:streamed-same", all(one == other for one, other in keys), [*map(repr, keys)])


@case("responses:mcp:list-once")
def the_next_turn_knows_the_tools(trial: Trial) -> Steps:
    """Go on from a response that listed tools."""
    first = yield from respond(trial, "/once")
    tools = [trial.mcp_tool("/once")]
    exchange = yield from trial.respond("Thank you.", tools=tools, previous_response_id=id_of(first))
    again = trial.response(exchange)
    trial.expect("responses:mcp:list-once", not items_of(again, LIST), exchange.came)


@case("responses:mcp:list-given")
def items_of_tools_are_sent_back(trial: Trial) -> Steps:
    """Send the items of a response that used tools as input of the next, with nothing stored."""
    first = yield from respond(trial, "/given", more={"store": False})
    history = [{"role": "user", "content": ASKED}, *listed(first, "output"), {"role": "user", "content": "Thank you."}]
    exchange = yield from trial.respond(history, tools=[trial.mcp_tool("/given")], store=False)
    is_known = exchange.is_ok and not items_of(exchange.json, LIST)
    trial.expect("responses:mcp:list-given", is_known, exchange.came)


@case("responses:mcp:error-item", "responses:mcp:error-goes-on")
def an_mcp_tool_fails(trial: Trial) -> Steps:
    """Have a tool called that fails."""
    response = yield from respond(trial, "/error", ASKED_TO_LOSE, allowed_tools=[LOSE["name"]])
    calls = called(response)
    are_told = all(
        one.get("status") == "failed"
        and at(one, "error", "type") == "mcp_tool_execution_error"
        and LOST in shown(at(one, "error", "content"))
        and one.get("output") is None
        for one in calls
    )
    trial.expect("responses:mcp:error-item", are_told, calls)
    trial.expect("responses:mcp:error-goes-on", at(response, "status") == "completed", at(response, "status"))


# Approval.


def answering(requests: list[Item], *, approve: bool) -> list[Item]:
    """Return what a client says to requests for approval."""
    return [
        {"type": "mcp_approval_response", "approval_request_id": id_of(one), "approve": approve} for one in requests
    ]


@case(
    "responses:mcp:approval-default",
    "responses:mcp:approval-item",
    "responses:mcp:approval-ends",
    "responses:mcp:approved",
    "responses:mcp:approved-id",
)
def a_call_is_approved(trial: Trial) -> Steps:
    """Have a call made that is asked for, and approve it."""
    first = yield from respond(trial, "/approved", require_approval=MISSING)
    unasked = items_of(first, CALL) or (yield from calls_heard(trial, "/approved"))
    trial.expect("responses:mcp:approval-default", not unasked, first["output"])
    requests = asked_for(first)
    are_whole = all(has_texts(one, "name", "arguments") and is_object(one["arguments"]) for one in requests)
    trial.expect("responses:mcp:approval-item", are_whole, requests)
    is_last = at(first, "output", -1, "type") == REQUEST and at(first, "status") == "completed"
    trial.expect("responses:mcp:approval-ends", is_last, first["output"])
    exchange = yield from trial.respond(
        answering(requests, approve=True),
        tools=[trial.mcp_tool("/approved", require_approval=MISSING)],
        previous_response_id=id_of(first),
    )
    calls = items_of(trial.response(exchange), CALL)[: len(requests)]
    heard = yield from calls_heard(trial, "/approved")
    wanted = [(one.get("name"), one.get("arguments")) for one in requests]
    are_made = [(one.get("name"), one.get("arguments")) for one in calls] == wanted and len(heard) >= len(wanted)
    trial.expect("responses:mcp:approved", are_made, exchange.came)
    ids = [one.get("approval_request_id") for one in calls]
    trial.expect("responses:mcp:approved-id", ids == [one.get("id") for one in requests], ids)


@case("responses:mcp:denied", "responses:mcp:denied-goes-on")
def a_call_is_denied(trial: Trial) -> Steps:
    """Have a call made that is asked for, and deny it."""
    first = yield from respond(trial, "/denied", require_approval="always")
    requests = asked_for(first)
    exchange = yield from trial.respond(
        answering(requests, approve=False),
        tools=[trial.mcp_tool("/denied", require_approval="always")],
        previous_response_id=id_of(first),
    )
    trial.succeed(exchange)
    heard = yield from calls_heard(trial, "/denied")
    trial.expect("responses:mcp:denied", not heard and not items_of(exchange.json, CALL), exchange.came)
    is_completed = at(exchange.json, "status") == "completed"
    trial.expect("responses:mcp:denied-goes-on", is_completed, exchange.came)


@case("responses:mcp:approval-unknown")
def what_was_not_asked_for_is_approved(trial: Trial) -> Steps:
    """Approve a request that is not there."""
    first = yield from respond(trial, "/unknown")
    nothing = answering([{"id": "mcpr_00000000000000000000000000000000"}], approve=True)
    exchange = yield from trial.respond(nothing, tools=[trial.mcp_tool("/unknown")], previous_response_id=id_of(first))
    trial.expect("responses:mcp:approval-unknown", 400 <= exchange.status < 500, exchange.came)


@case("responses:mcp:approval-always")
def some_tools_are_asked_for(trial: Trial) -> Steps:
    """Have a tool called that is to be asked for, unlike others."""
    always = {"always": {"tool_names": [LOOKUP["name"]]}}
    response = yield from respond(trial, "/always", allowed_tools=[LOOKUP["name"]], require_approval=always)
    if not items_of(response, CALL):
        asked_for(response)
    trial.expect("responses:mcp:approval-always", not items_of(response, CALL), response["output"])


@case("responses:mcp:approval-never")
def some_tools_are_not_asked_for(trial: Trial) -> Steps:
    """Have a tool called that is not to be asked for, unlike others."""
    never = {"never": {"tool_names": [LOOKUP["name"]]}}
    response = yield from respond(trial, "/never", allowed_tools=[LOOKUP["name"]], require_approval=never)
    if not items_of(response, REQUEST):
        called(response)
    trial.expect("responses:mcp:approval-never", not items_of(response, REQUEST), response["output"])


# What a tool's fields ask for.


def allowing(name: str, allowed: Any) -> Case:
    """Return the case in which only some tools are allowed, of which `lookup` is the only one."""
    judged = f"responses:mcp:{name}"

    def script(trial: Trial) -> Steps:
        response = yield from respond(trial, f"/{name}", "Say hello.", allowed_tools=allowed)
        names = names_of(listed(listed_tools(response), "tools"))
        trial.expect(judged, names == {LOOKUP["name"]}, shown(sorted(map(str, names))))

    script.__doc__ = f"Allow some tools only: {name}."
    return Case(f"mcp_{name.replace('-', '_')}", (judged,), script)


ALLOWING = (
    allowing("allowed-names", [LOOKUP["name"]]),
    allowing("allowed-read-only", {"read_only": True}),
)

TOKEN, VALUE = "token-4f1c9a7e2b", "value-8d3e6c5a0f"

SECRET = {"authorization": TOKEN, "headers": {"X-Shelf": VALUE}}


def shows_secrets(exchange: Exchange) -> bool:
    """Whether an answer has the token or the header's value in it."""
    return any(secret.encode() in exchange.body for secret in (TOKEN, VALUE))


@case(
    "responses:mcp:authorization-sent",
    "responses:mcp:headers-sent",
    "responses:mcp:secrets-hidden",
    "responses:mcp:secrets-hidden-stored",
    "responses:mcp:secrets-hidden-streamed",
)
def a_tool_has_secrets(trial: Trial) -> Steps:
    """Give an MCP tool a token and a header, and look for them in all that comes back."""
    response = yield from respond(trial, "/secrets", **SECRET)
    plain = trial.exchanges[-1]
    heard = (yield from trial.heard("/secrets")).json
    headers = [at(message, "headers") for message in heard] if isinstance(heard, list) else []
    tokens = {at(one, "authorization") for one in headers}
    trial.expect("responses:mcp:authorization-sent", tokens == {f"Bearer {TOKEN}"}, f"{len(tokens)} kinds of requests")
    values = {at(one, "x-shelf") for one in headers}
    trial.expect("responses:mcp:headers-sent", values == {VALUE}, f"{len(values)} kinds of requests")
    trial.expect("responses:mcp:secrets-hidden", not shows_secrets(plain), "One of them is shown.")
    stored = yield from trial.get(f"/responses/{id_of(response)}")
    if stored.is_ok:
        trial.expect("responses:mcp:secrets-hidden-stored", not shows_secrets(stored), "One of them is shown.")
    tool = trial.mcp_tool("/secrets", **SECRET)
    streamed = yield from trial.respond("Say hello.", tools=[tool], stream=True)
    trial.streamed(streamed)
    trial.expect("responses:mcp:secrets-hidden-streamed", not shows_secrets(streamed), "One of them is shown.")


@case("responses:mcp:choice")
def an_mcp_tool_is_demanded(trial: Trial) -> Steps:
    """Demand a call of an MCP tool."""
    choice = {"type": "mcp", "server_label": "shelves", "name": LOOKUP["name"]}
    response = yield from respond(trial, "/choice", "Say hello.", more={"tool_choice": choice})
    names = [one.get("name") for one in items_of(response, CALL)]
    trial.expect("responses:mcp:choice", bool(names) and names[0] == LOOKUP["name"], response["output"])


@case("responses:mcp:choice-unknown")
def an_unknown_mcp_tool_is_demanded(trial: Trial) -> Steps:
    """Demand a call of an MCP server that is not among the tools."""
    yield from respond(trial, "/choice-unknown", "Say hello.")
    choice = {"type": "mcp", "server_label": "nobody"}
    tools = [trial.mcp_tool("/choice-unknown")]
    exchange = yield from trial.respond("Say hello.", tools=tools, tool_choice=choice)
    trial.expect("responses:mcp:choice-unknown", 400 <= exchange.status < 500, exchange.came)


@case("responses:mcp:max-tool-calls")
def calls_are_bounded(trial: Trial) -> Steps:
    """Ask for several calls, and allow one."""
    several = "On which shelves are the words alpha, beta and gamma? Use the tool lookup for each."
    response = yield from respond(trial, "/bounded", several, more={"max_tool_calls": 1})
    calls = called(response)
    heard = yield from calls_heard(trial, "/bounded")
    trial.expect("responses:mcp:max-tool-calls", len(calls) == 1 and len(heard) == 1, calls)


BAD: dict[str, list[dict[str, Any]]] = {
    "no-address": [{"type": "mcp", "server_label": "nowhere"}],
    "no-label": [{name: value for name, value in mcp("https://mcp.example/").items() if name != "server_label"}],
    "same-label": [mcp("https://one.example/mcp"), mcp("https://two.example/mcp")],
}
"""By the requirement's name: tools that are refused."""


def refusing(name: str, tools: list[dict[str, Any]]) -> Script:
    """Return the script that sends tools which are refused."""

    def script(trial: Trial) -> Steps:
        exchange = yield from trial.respond("Say hello.", tools=tools)
        trial.offered(exchange)
        if exchange.is_ok and not items_of(exchange.json, LIST):
            raise Stop("not offered", LEFT_OUT)
        trial.expect(f"responses:mcp:{name}", 400 <= exchange.status < 500, exchange.came)

    script.__doc__ = f"Send an MCP tool: {name.replace('-', ' ')}."
    return script


REFUSING = tuple(
    Case(f"mcp_{name.replace('-', '_')}", (f"responses:mcp:{name}",), refusing(name, tools))
    for name, tools in BAD.items()
)
