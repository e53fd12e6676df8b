"""Asks for tools of the run's MCP server, and reads the items that come of it."""

from collections.abc import Generator
from typing import Any

from antiphon.conformance.exchange import Exchange, Step, parsed
from antiphon.conformance.reading import at, is_text, listed, shown
from antiphon.conformance.refusal import message_of
from antiphon.conformance.requirement import Stop
from antiphon.conformance.samples import spelled
from antiphon.conformance.trial import Trial

Item = dict[str, Any]

LIST, CALL, REQUEST = "mcp_list_tools", "mcp_call", "mcp_approval_request"

ASKED = spelled("On which shelf is the word antiphon? Use the tool lookup.", 'lookup {"word": "antiphon"}')

ASKED_TO_LOSE = spelled("Take the word antiphon from its shelf. Use the tool lose.", "lose {}")

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
    trial.understood(exchange)
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
