"""Hosted tools: requests for them, and their events if the server runs them."""

from collections.abc import Callable
from typing import Any, NamedTuple

from antiphon_verify.case import Case, Script, case
from antiphon_verify.reading import at, is_text, listed, shown
from antiphon_verify.refusal import is_reported
from antiphon_verify.requirement import Stop, Table, capability, must, should
from antiphon_verify.samples import search, spelled
from antiphon_verify.soundness import STREAM_IDS, judge_stream
from antiphon_verify.trial import Steps, Trial

TABLE: Table = (
    should(
        "responses:hosted:web-search-told",
        "issue ollama#15954",
        "A web search tool is echoed in `tools`, or rejected.",
    ),
    must("responses:hosted:web-search-item", "spec 5", "A web search item has an id, a status and an action."),
    must(
        "responses:hosted:web-search-order",
        "spec 16",
        "The steps of a web search are in progress, searching, completed, in this order.",
    ),
    should(
        "responses:hosted:file-search-told",
        "issue ollama#15954",
        "A file search tool is echoed in `tools`, or rejected.",
    ),
    must(
        "responses:hosted:file-search-unknown", "spec 13", "A file search in an unknown store is rejected with a 4xx."
    ),
    should(
        "responses:hosted:code-told",
        "issue ollama#15954",
        "A code interpreter tool is echoed in `tools`, or rejected.",
    ),
    must(
        "responses:hosted:code-item",
        "spec 5",
        "A code interpreter call has an id, a status and a container.",
    ),
    must(
        "responses:hosted:code-order",
        "spec 16",
        "The steps of a code interpreter call are in progress, interpreting, completed.",
    ),
    should(
        "responses:hosted:image-told",
        "issue ollama#15954",
        "An image generation tool is echoed in `tools`, or rejected.",
    ),
    must("responses:hosted:image-item", "spec 5", "An image generation call has an id, a status and a result."),
    must("responses:hosted:image-order", "spec 16", "The steps of an image are in progress, generating, completed."),
    should("responses:hosted:mcp-told", "issue ogx#4978", "An MCP tool is echoed in `tools`, or rejected."),
    must(
        "responses:hosted:mcp-unreachable",
        "spec 13",
        "An unreachable MCP server is reported by an error in its item, or by a 4xx, 502, 503 or 504 with a message.",
    ),
    must("responses:hosted:mcp-scheme", "spec 13", "An MCP server at a `file:` URL is rejected with a 4xx."),
    must(
        "responses:hosted:code-container", "spec 13", "A code interpreter without a container is rejected with a 4xx."
    ),
    must(
        "responses:hosted:demanded",
        "spec 6",
        "A hosted tool named in `tool_choice` runs, or the request is rejected with a 4xx.",
    ),
    capability(should("responses:hosted:web-search-used", "spec 16", "The model searches the web when prompted to.")),
    capability(should("responses:hosted:code-used", "spec 16", "The model runs code when prompted to.")),
)


class Hosted(NamedTuple):
    """A tool, a prompt that needs it, the type of its calls, their steps, and what a complete call has."""

    tool: dict[str, Any]
    asked: str
    item: str
    steps: tuple[str, ...]
    is_whole: Callable[[dict[str, Any]], bool]


def has_action(item: dict[str, Any]) -> bool:
    """Whether a web search has its action."""
    return is_text(at(item, "action", "type"))


HOSTED: dict[str, Hosted] = {
    "web-search": Hosted(
        {"type": "web_search"},
        spelled("Search the web for the capital of France.", search("web_search", "capital of France")),
        "web_search_call",
        ("in_progress", "searching", "completed"),
        has_action,
    ),
    "code": Hosted(
        {"type": "code_interpreter", "container": {"type": "auto"}},
        spelled(
            "Run code that computes 17 times 3.",
            *(f'{name} {{"code": "print(17 * 3)"}}' for name in ("code_interpreter", "python")),
        ),
        "code_interpreter_call",
        ("in_progress", "interpreting", "completed"),
        lambda item: is_text(item.get("container_id")),
    ),
    "image": Hosted(
        {"type": "image_generation"},
        spelled("Draw a red square.", 'image_generation {"prompt": "a red square"}'),
        "image_generation_call",
        ("in_progress", "generating", "completed"),
        lambda item: item.get("status") != "completed" or is_text(item.get("result")),
    ),
}
"""By the first word of the requirements' names."""


def running(name: str, hosted: Hosted, ids: tuple[str, ...]) -> Script:
    """Return the script that streams a response with a hosted tool."""

    def script(trial: Trial) -> Steps:
        exchange = yield from trial.respond(hosted.asked, tools=[hosted.tool], stream=True)
        events = trial.streamed(exchange)
        judge_stream(trial, events)
        told = [at(tool, "type") for tool in listed(events, -1, "response", "tools")]
        trial.expect(f"responses:hosted:{name}-told", hosted.tool["type"] in told, told)
        trial.offered(exchange)
        done = [event.get("item") for event in events if event.get("type") == "response.output_item.done"]
        items = [item for item in done if isinstance(item, dict) and item.get("type") == hosted.item]
        if f"responses:hosted:{name}-used" in ids:
            trial.expect(f"responses:hosted:{name}-used", bool(items), shown(done))
        if not items:
            raise Stop("skipped", "The tool was not used.")
        are_whole = all(is_text(one.get("id")) and is_text(one.get("status")) and hosted.is_whole(one) for one in items)
        trial.expect(f"responses:hosted:{name}-item", are_whole, items)
        steps = steps_of(events, f"response.{hosted.item}.")
        trial.expect(f"responses:hosted:{name}-order", steps == [*hosted.steps] * len(items), steps)

    script.__doc__ = f"Stream a response with {name}."
    return script


def steps_of(events: list[dict[str, Any]], prefix: str) -> list[str]:
    """Return the last words of the event types of a tool's steps; deltas are not steps."""
    types = [kind for event in events if isinstance(kind := event.get("type"), str)]
    words = [kind.removeprefix(prefix) for kind in types if kind.startswith(prefix)]
    return [word for word in words if word != "partial_image"]


def ids_of(name: str) -> tuple[str, ...]:
    """Return the ids that the case of a hosted tool judges."""
    own = tuple(f"responses:hosted:{name}-{one}" for one in ("told", "item", "order"))
    return own if name == "image" else (*own, f"responses:hosted:{name}-used")


RUNNING = tuple(
    Case(f"hosted_{name.replace('-', '_')}", ids_of(name), running(name, hosted, ids_of(name)), STREAM_IDS)
    for name, hosted in HOSTED.items()
)

NOWHERE = "http://127.0.0.1:9/mcp"


def mcp(url: str) -> dict[str, Any]:
    """Return an MCP tool at a URL."""
    return {"type": "mcp", "server_label": "nowhere", "server_url": url, "require_approval": "never"}


@case("responses:hosted:mcp-told", "responses:hosted:mcp-unreachable")
def an_mcp_server_is_not_there(trial: Trial) -> Steps:
    """Name an unreachable MCP server."""
    exchange = yield from trial.respond("Say hello.", tools=[mcp(NOWHERE)])
    is_refused = is_reported(exchange)
    if exchange.is_ok or is_refused:
        told = [at(tool, "type") for tool in listed(exchange.json, "tools")]
        trial.expect("responses:hosted:mcp-told", "mcp" in told or is_refused, told)
    trial.understood(exchange)
    if exchange.is_ok:
        errors = [item for item in listed(exchange.json, "output") if at(item, "error")]
        is_told = bool(errors) or bool(at(exchange.json, "error"))
        trial.expect("responses:hosted:mcp-unreachable", is_told, exchange.came)
    else:
        trial.expect("responses:hosted:mcp-unreachable", is_refused, exchange.came)


BAD: dict[str, dict[str, Any]] = {
    "mcp-scheme": mcp("file:///etc/hostname"),
    "code-container": {"type": "code_interpreter"},
    "file-search-unknown": {"type": "file_search", "vector_store_ids": ["vs_00000000000000000000000000000000"]},
}
"""By the requirement's name: tools that are rejected."""


def refusing(name: str, tool: dict[str, Any]) -> Script:
    """Return the script that sends a tool which must be rejected."""

    def script(trial: Trial) -> Steps:
        exchange = yield from trial.respond("Say hello.", tools=[tool])
        trial.understood(exchange)
        trial.expect(f"responses:hosted:{name}", 400 <= exchange.status < 500, exchange.came)

    script.__doc__ = f"Send a tool: {name}."
    return script


REFUSING = tuple(
    Case(f"hosted_{name.replace('-', '_')}", (f"responses:hosted:{name}",), refusing(name, tool))
    for name, tool in BAD.items()
)


@case("responses:hosted:file-search-told")
def a_file_search_is_told_back(trial: Trial) -> Steps:
    """Offer a search in an unknown store."""
    exchange = yield from trial.respond("Say hello.", tools=[BAD["file-search-unknown"]])
    if not exchange.is_ok:
        trial.understood(exchange)
    told = [at(tool, "type") for tool in listed(exchange.json, "tools")]
    is_told = 400 <= exchange.status < 500 or "file_search" in told
    trial.expect("responses:hosted:file-search-told", is_told, exchange.came)


@case("responses:hosted:demanded")
def a_hosted_tool_is_demanded(trial: Trial) -> Steps:
    """Force a call of a hosted tool."""
    hosted = HOSTED["image"]
    exchange = yield from trial.respond(hosted.asked, tools=[hosted.tool], tool_choice=hosted.tool)
    trial.served(exchange)
    is_run = exchange.is_ok and any(at(item, "type") == hosted.item for item in listed(exchange.json, "output"))
    trial.expect("responses:hosted:demanded", is_run or 400 <= exchange.status < 500, exchange.came)
