"""Requests with tools of the run's MCP server, and the items that result."""

from collections.abc import Generator
from typing import Any

from antiphon_verify.exchange import Exchange, Step, parsed
from antiphon_verify.reading import at, is_text, listed, preview
from antiphon_verify.refusal import message_of
from antiphon_verify.requirement import Stop
from antiphon_verify.samples import spelled
from antiphon_verify.trial import Trial

Item = dict[str, Any]

LIST = "mcp_list_tools"
CALL = "mcp_call"
REQUEST = "mcp_approval_request"

PROMPT = spelled(
    "On which shelf is the word antiphon? Use the tool lookup.", 'lookup {"word": "antiphon"}'
)

LOSING_PROMPT = spelled("Take the word antiphon from its shelf. Use the tool lose.", "lose {}")

UNREACHED = "The server did not list the tools of the run's MCP server: "

LEFT_OUT = "The server ignored the MCP tool: the response has no list of its tools."

UNUSED = "The model called no tool."

Answered = Generator[Step, Any, dict[str, Any]]


def items_of(value: Any, kind: str) -> list[Item]:
    """Return the output items of a type."""
    return [item for item in listed(value, "output") if at(item, "type") == kind]


def listed_tools(response: dict[str, Any]) -> Item:
    """Return the list of tools. Ends the case if the server lists none, or could not."""
    lists = items_of(response, LIST)
    if not lists:
        raise Stop("not offered", LEFT_OUT)
    if at(lists[0], "error"):
        raise Stop("skipped", f"{UNREACHED}{preview(at(lists[0], 'error'))}")
    return lists[0]


def reached(trial: Trial, exchange: Exchange) -> dict[str, Any]:
    """Return the response if the tested server reached the MCP server. Ends the case otherwise."""
    is_about_tools = str(at(exchange.json, "error", "param")).startswith("tools")
    trial.understood(exchange)
    if 400 <= exchange.status < 500 and is_about_tools:
        raise Stop("skipped", f"{UNREACHED}{message_of(exchange)[:200]}")
    response = trial.response(exchange)
    listed_tools(response)
    return response


def respond(
    trial: Trial, path: str, input: Any = PROMPT, *, more: Any = None, **fields: Any
) -> Answered:
    """Create a response with the run's MCP server at a path; `fields` are the tool's, `more` the
    request's.
    """
    exchange = yield from trial.respond(
        input, tools=[trial.mcp_tool(path, **fields)], **(more or {})
    )
    return reached(trial, exchange)


def received_calls(trial: Trial, path: str) -> Generator[Step, Any, list[Item]]:
    """Return the calls that the run's MCP server received under a path."""
    exchange = yield from trial.mcp_received(path)
    received = exchange.json if isinstance(exchange.json, list) else []
    return [at(message, "params") for message in received if at(message, "method") == "tools/call"]


def called(response: dict[str, Any]) -> list[Item]:
    """Return the calls. Ends the case without calls."""
    calls = items_of(response, CALL)
    if not calls:
        raise Stop("skipped", UNUSED)
    return calls


def approval_requests(response: dict[str, Any]) -> list[Item]:
    """Return the approval requests. Ends the case if the model made no call."""
    requests = items_of(response, REQUEST)
    if not requests:
        raise Stop("skipped", UNUSED)
    return requests


def has_texts(item: Item, *names: str) -> bool:
    """Whether an item has all of these keys, each a non-empty string."""
    return all(is_text(item.get(name)) for name in ("id", "server_label", *names))


def is_object(text: Any) -> bool:
    """Whether a text is a JSON object."""
    return isinstance(text, str) and isinstance(parsed(text.encode()), dict)


def names_of(tools: list[Any]) -> set[Any]:
    """Return the names of listed tools."""
    return {at(tool, "name") for tool in tools}
