"""Hosted tools: requests for them, and their events if the server runs them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from antiphon_verify.case import Case, case
from antiphon_verify.reading import at, is_text, listed, preview
from antiphon_verify.refusal import is_reported
from antiphon_verify.replies.responses import hosted as replies
from antiphon_verify.requirement import Requirement, Stop, capability, must, should
from antiphon_verify.samples import UNREACHABLE_URL, mcp, search, spelled
from antiphon_verify.soundness import STREAM_IDS, judge_stream
from antiphon_verify.trial import Steps, Trial


class Hosted(NamedTuple):
    """A tool, a prompt that needs it, the type of its calls, their steps, and what a complete call
    has.
    """

    tool: dict[str, Any]
    prompt: str
    item: str
    steps: tuple[str, ...]
    is_whole: Callable[[dict[str, Any]], bool]


def has_action(item: dict[str, Any]) -> bool:
    """Whether a web search has its action."""
    return is_text(at(item, "action", "type"))


WEB_SEARCH = Hosted(
    {"type": "web_search"},
    spelled("Search the web for the capital of France.", search("web_search", "capital of France")),
    "web_search_call",
    ("in_progress", "searching", "completed"),
    has_action,
)

CODE = Hosted(
    {"type": "code_interpreter", "container": {"type": "auto"}},
    spelled(
        "Run code that computes 17 times 3.",
        *(f'{name} {{"code": "print(17 * 3)"}}' for name in ("code_interpreter", "python")),
    ),
    "code_interpreter_call",
    ("in_progress", "interpreting", "completed"),
    lambda item: is_text(item.get("container_id")),
)

IMAGE = Hosted(
    {"type": "image_generation"},
    spelled("Draw a red square.", 'image_generation {"prompt": "a red square"}'),
    "image_generation_call",
    ("in_progress", "generating", "completed"),
    lambda item: item.get("status") != "completed" or is_text(item.get("result")),
)


def running(
    name: str,
    hosted: Hosted,
    *,
    echoed: Requirement,
    item: Requirement,
    order: Requirement,
    used: Requirement | None = None,
) -> Case:
    """Return the case that streams a response with a hosted tool: its echo, its items, their steps,
    and its use.
    """
    tool = hosted.tool
    kind = hosted.item
    echoed = replace(echoed, fault=[replies.NOT_ECHOED])
    item = replace(item, fault=[replies.echoing(replies.bare(kind), tool)])
    order = replace(
        order, fault=[replies.echoing(replies.without(f"response.{kind}.{hosted.steps[1]}"), tool)]
    )
    uses = () if used is None else (replace(used, fault=[replies.echoing(replies.TEXT, tool)]),)

    def script(trial: Trial) -> Steps:
        exchange = yield from trial.respond(hosted.prompt, tools=[tool], stream=True)
        events = trial.streamed(exchange)
        judge_stream(trial, events)
        types = [at(one, "type") for one in listed(events, -1, "response", "tools")]
        trial.expect(echoed.id, tool["type"] in types, types)
        trial.offered(exchange)
        done = [
            event.get("item")
            for event in events
            if event.get("type") == "response.output_item.done"
        ]
        items = [one for one in done if isinstance(one, dict) and one.get("type") == kind]
        for use in uses:
            trial.expect(use.id, bool(items), preview(done))
        if not items:
            raise Stop("skipped", "The tool was not used.")
        are_whole = all(
            is_text(one.get("id")) and is_text(one.get("status")) and hosted.is_whole(one)
            for one in items
        )
        trial.expect(item.id, are_whole, items)
        steps = steps_of(events, f"response.{kind}.")
        trial.expect(order.id, steps == [*hosted.steps] * len(items), steps)

    script.__doc__ = f"Stream a response with {name}."
    good = [replies.echoing(replies.EVENTS, tool)]
    return Case(
        f"hosted_{name.replace('-', '_')}", (echoed, item, order, *uses), script, STREAM_IDS, good
    )


def steps_of(events: list[dict[str, Any]], prefix: str) -> list[str]:
    """Return the last words of the event types of a tool's steps; deltas are not steps."""
    types = [kind for event in events if isinstance(kind := event.get("type"), str)]
    words = [kind.removeprefix(prefix) for kind in types if kind.startswith(prefix)]
    return [word for word in words if word != "partial_image"]


RUNNING = (
    running(
        "web-search",
        WEB_SEARCH,
        echoed=should(
            "responses:hosted:web-search-told",
            "issue ollama#15954",
            "A web search tool is echoed in `tools`, or rejected.",
        ),
        item=must(
            "responses:hosted:web-search-item",
            "spec 5",
            "A web search item has an id, a status and an action.",
        ),
        order=must(
            "responses:hosted:web-search-order",
            "spec 16",
            "The steps of a web search are in progress, searching, completed, in this order.",
        ),
        used=capability(
            should(
                "responses:hosted:web-search-used",
                "spec 16",
                "The model searches the web when prompted to.",
            )
        ),
    ),
    running(
        "code",
        CODE,
        echoed=should(
            "responses:hosted:code-told",
            "issue ollama#15954",
            "A code interpreter tool is echoed in `tools`, or rejected.",
        ),
        item=must(
            "responses:hosted:code-item",
            "spec 5",
            "A code interpreter call has an id, a status and a container.",
        ),
        order=must(
            "responses:hosted:code-order",
            "spec 16",
            "The steps of a code interpreter call are in progress, interpreting, completed.",
        ),
        used=capability(
            should("responses:hosted:code-used", "spec 16", "The model runs code when prompted to.")
        ),
    ),
    running(
        "image",
        IMAGE,
        echoed=should(
            "responses:hosted:image-told",
            "issue ollama#15954",
            "An image generation tool is echoed in `tools`, or rejected.",
        ),
        item=must(
            "responses:hosted:image-item",
            "spec 5",
            "An image generation call has an id, a status and a result.",
        ),
        order=must(
            "responses:hosted:image-order",
            "spec 16",
            "The steps of an image are in progress, generating, completed.",
        ),
    ),
)


@case(
    should(
        "responses:hosted:mcp-told",
        "issue ogx#4978",
        "An MCP tool is echoed in `tools`, or rejected.",
        fault=[replies.ECHOED.patched("tools", to=[])],
    ),
    must(
        "responses:hosted:mcp-unreachable",
        "spec 13",
        "An unreachable MCP server is reported by an error in its item, or by a 4xx, 502, 503 or "
        "504 with a message.",
        fault=[replies.ECHOED.patched("output", to=[])],
    ),
    good=[replies.ECHOED],
)
def an_mcp_server_is_unreachable(trial: Trial) -> Steps:
    """Name an unreachable MCP server."""
    exchange = yield from trial.respond("Say hello.", tools=[mcp(UNREACHABLE_URL)])
    is_refused = is_reported(exchange)
    if exchange.is_ok or is_refused:
        types = [at(tool, "type") for tool in listed(exchange.json, "tools")]
        trial.expect("responses:hosted:mcp-told", "mcp" in types or is_refused, types)
    trial.understood(exchange)
    if exchange.is_ok:
        errors = [item for item in listed(exchange.json, "output") if at(item, "error")]
        is_reported_or_echoed = bool(errors) or bool(at(exchange.json, "error"))
        trial.expect("responses:hosted:mcp-unreachable", is_reported_or_echoed, exchange.came)
    else:
        trial.expect("responses:hosted:mcp-unreachable", is_refused, exchange.came)


UNKNOWN_STORE = {"type": "file_search", "vector_store_ids": ["vs_00000000000000000000000000000000"]}


def rejected(requirement: Requirement, tool: dict[str, Any]) -> Case:
    """Return the case that sends a tool which must be rejected."""
    row = replace(requirement, fault=[replies.ACCEPTED])
    name = row.id.rpartition(":")[2]

    def script(trial: Trial) -> Steps:
        exchange = yield from trial.respond("Say hello.", tools=[tool])
        trial.understood(exchange)
        trial.expect(row.id, 400 <= exchange.status < 500, exchange.came)

    script.__doc__ = f"Send a tool: {name}."
    return Case(f"hosted_{name.replace('-', '_')}", (row,), script, good=[replies.REJECTED])


REFUSING = (
    rejected(
        must(
            "responses:hosted:mcp-scheme",
            "spec 13",
            "An MCP server at a `file:` URL is rejected with a 4xx.",
        ),
        mcp("file:///etc/hostname"),
    ),
    rejected(
        must(
            "responses:hosted:code-container",
            "spec 13",
            "A code interpreter without a container is rejected with a 4xx.",
        ),
        {"type": "code_interpreter"},
    ),
    rejected(
        must(
            "responses:hosted:file-search-unknown",
            "spec 13",
            "A file search in an unknown store is rejected with a 4xx.",
        ),
        UNKNOWN_STORE,
    ),
)


@case(
    should(
        "responses:hosted:file-search-told",
        "issue ollama#15954",
        "A file search tool is echoed in `tools`, or rejected.",
        fault=[replies.ACCEPTED],
    ),
    good=[replies.REJECTED],
)
def a_file_search_is_echoed(trial: Trial) -> Steps:
    """Offer a search in an unknown store."""
    exchange = yield from trial.respond("Say hello.", tools=[UNKNOWN_STORE])
    if not exchange.is_ok:
        trial.understood(exchange)
    types = [at(tool, "type") for tool in listed(exchange.json, "tools")]
    is_reported_or_echoed = 400 <= exchange.status < 500 or "file_search" in types
    trial.expect("responses:hosted:file-search-told", is_reported_or_echoed, exchange.came)


@case(
    must(
        "responses:hosted:demanded",
        "spec 6",
        "A hosted tool named in `tool_choice` runs, or the request is rejected with a 4xx.",
        fault=[replies.ACCEPTED],
    ),
    good=[replies.REJECTED],
)
def a_hosted_tool_is_demanded(trial: Trial) -> Steps:
    """Force a call of a hosted tool."""
    exchange = yield from trial.respond(IMAGE.prompt, tools=[IMAGE.tool], tool_choice=IMAGE.tool)
    trial.supported(exchange)
    is_run = exchange.is_ok and any(
        at(item, "type") == IMAGE.item for item in listed(exchange.json, "output")
    )
    trial.expect("responses:hosted:demanded", is_run or 400 <= exchange.status < 500, exchange.came)
