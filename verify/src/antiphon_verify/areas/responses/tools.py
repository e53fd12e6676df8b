"""Tools that a client runs, other than functions."""

from collections.abc import Callable
from typing import Any

from antiphon_verify.areas.responses.calls import calls_of, came, outputs_for
from antiphon_verify.areas.responses.text import output_of
from antiphon_verify.case import Case, case
from antiphon_verify.reading import at, is_text, listed, preview
from antiphon_verify.replies.responses import tools as replies
from antiphon_verify.replies.responses.tools import WORLD
from antiphon_verify.requirement import Stop, capability, must, should
from antiphon_verify.samples import WEATHER, WEATHER_QUESTION, accepted, is_accepted, png
from antiphon_verify.trial import Steps, Trial

NOTE = {"type": "custom", "name": "write_note", "description": "Takes a note of one line."}

POEM = {"type": "custom", "name": "write_poem", "description": "Takes a poem of one line."}

CHOSEN = {"tools": [NOTE, POEM], "tool_choice": {"type": "custom", "name": "write_poem"}}


def items_of(response: Any, kind: str) -> list[dict[str, Any]]:
    """Return the output items of a type."""
    return [item for item in output_of(response) if item.get("type") == kind]


# Custom tools.


@case(
    should(
        "responses:tools:custom-chosen",
        "spec 6",
        "With a `tool_choice` that names a custom tool, the model calls the tool.",
        fault=[replies.custom_call("write_note"), replies.TEXT],
    ),
    must(
        "responses:tools:custom-output",
        "spec 5",
        "The output of a custom tool, sent with `previous_response_id`, is accepted.",
        fault=[replies.custom_call("write_poem"), replies.REJECTED],
    ),
    good=[replies.custom_call("write_poem"), replies.TEXT],
)
def one_of_two_custom_tools_is_called(trial: Trial) -> Steps:
    """Name one of two custom tools, and send its output."""
    response = trial.response((yield from trial.respond("Write something.", **CHOSEN)))
    calls = items_of(response, "custom_tool_call")
    names = [str(call.get("name")) for call in calls]
    trial.expect(
        "responses:tools:custom-chosen",
        bool(names) and set(names) == {"write_poem"},
        came(response),
    )
    if not calls:
        raise Stop("skipped", "There was no call.")
    outputs = [
        {"type": "custom_tool_call_output", "call_id": one.get("call_id"), "output": "Done."}
        for one in calls
    ]
    exchange = yield from trial.respond(
        outputs, tools=[NOTE, POEM], previous_response_id=at(response, "id")
    )
    trial.offered(exchange)
    trial.expect("responses:tools:custom-output", is_accepted(exchange), exchange.came)


WORDS = ("yes", "no")


def answering(definition: str) -> dict[str, Any]:
    """Return a custom tool with a Lark grammar for its input."""
    form = {"type": "grammar", "syntax": "lark", "definition": definition}
    return {
        "type": "custom",
        "name": "answer",
        "description": "Takes a short answer.",
        "format": form,
    }


@case(
    capability(
        should(
            "responses:tools:grammar",
            "spec 6",
            "The `input` of a custom tool call matches the tool's Lark grammar.",
            fault=[replies.custom_call("answer", "Yes, I think so.")],
        )
    ),
    good=[replies.custom_call("answer", "yes")],
)
def a_grammar_is_fitted(trial: Trial) -> Steps:
    """Force a call with an input of one of two words."""
    forced = {
        "tools": [answering('start: "yes" | "no"')],
        "tool_choice": {"type": "custom", "name": "answer"},
    }
    response = trial.response((yield from trial.respond("Say yes.", **forced)))
    inputs = [call.get("input") for call in items_of(response, "custom_tool_call")]
    trial.expect(
        "responses:tools:grammar",
        bool(inputs) and all(one in WORDS for one in inputs),
        came(response),
    )


@case(
    should(
        "responses:tools:grammar-bad",
        "spec 6",
        "A custom tool with an invalid grammar is rejected with a 4xx.",
        fault=[replies.TEXT],
    ),
    good=[replies.BAD_GRAMMAR],
)
def a_grammar_is_invalid(trial: Trial) -> Steps:
    """Send a truncated grammar."""
    exchange = yield from trial.respond("Say yes.", tools=[answering("start: (")])
    trial.understood(exchange)
    trial.expect("responses:tools:grammar-bad", 400 <= exchange.status < 500, exchange.came)


# Tools in namespaces, in the input, and found by a search.


@case(
    should(
        "responses:tools:namespace-told",
        "spec 6",
        "A namespace is echoed in `tools`, with its tools.",
        fault=[replies.NAMESPACED.patched("tools", to=[]), replies.NAMESPACED],
    ),
    must(
        "responses:tools:namespace-output",
        "client codex",
        "The output of a namespaced tool, sent with `previous_response_id`, is accepted.",
        fault=[replies.NAMESPACED, replies.REJECTED],
    ),
    should(
        "responses:tools:namespace-again",
        "client codex",
        "With a namespaced call in the history, the next call has separate `name` and `namespace`.",
        fault=[replies.NAMESPACED, replies.SPLIT],
    ),
    good=[replies.NAMESPACED, replies.NAMESPACED],
)
def a_namespaces_tool_is_called_twice(trial: Trial) -> Steps:
    """Force a call of a namespaced tool, send its output, and force another."""
    forced = {"tools": [WORLD], "tool_choice": "required"}
    first = trial.response((yield from trial.respond(WEATHER_QUESTION, **forced)))
    echoed = listed(first, "tools")
    names = [at(tool, "tools", 0, "name") for tool in echoed if at(tool, "type") == "namespace"]
    trial.expect("responses:tools:namespace-told", names == ["get_weather"], preview(echoed))
    more = [*outputs_for(calls_of(first)), {"role": "user", "content": WEATHER_QUESTION}]
    exchange = yield from trial.respond(more, **forced, previous_response_id=at(first, "id"))
    trial.offered(exchange)
    if trial.expect("responses:tools:namespace-output", is_accepted(exchange), exchange.came):
        named = [(call.get("namespace"), call.get("name")) for call in calls_of(exchange.json)]
        trial.expect(
            "responses:tools:namespace-again",
            named[:1] == [("world", "get_weather")],
            came(exchange.json),
        )


@case(
    should(
        "responses:tools:additional",
        "spec 5",
        "The model can call a tool of an `additional_tools` input item.",
        fault=[replies.TEXT],
    ),
    good=[replies.FOUND],
)
def a_tool_stands_in_the_input(trial: Trial) -> Steps:
    """Offer a tool in an item of the input, and require a call."""
    tool_item = {"type": "additional_tools", "role": "developer", "tools": [WEATHER]}
    options = [tool_item, {"role": "user", "content": WEATHER_QUESTION}]
    response = trial.response((yield from trial.respond(options, tool_choice="required")))
    names = [call.get("name") for call in calls_of(response)]
    trial.expect("responses:tools:additional", names[:1] == ["get_weather"], came(response))


SEARCH = {
    "type": "tool_search",
    "execution": "client",
    "description": "Finds further tools, such as one for the weather.",
    "parameters": {
        "type": "object",
        "properties": {"goal": {"type": "string"}},
        "required": ["goal"],
        "additionalProperties": False,
    },
}

DEFERRED = WEATHER | {"defer_loading": True}


@case(
    should(
        "responses:tools:search-call",
        "client codex",
        "A tool search by the client is a `tool_search_call` with `execution`, "
        "a `call_id` and arguments.",
        fault=[replies.with_output(replies.SEARCH | {"arguments": '{"goal": "the weather"}'})],
    ),
    should(
        "responses:tools:search-output",
        "client codex",
        "A `tool_search_output` with the tools that the client found is accepted.",
        fault=[replies.SEARCHING, replies.REJECTED],
    ),
    should(
        "responses:tools:search-found",
        "client codex",
        "The model can call a deferred tool after a search found it.",
        fault=[replies.SEARCHING, replies.TEXT],
    ),
    good=[replies.SEARCHING, replies.FOUND],
)
def a_client_searches_for_a_tool(trial: Trial) -> Steps:
    """Make the model search for a tool, send the result, and force a call of it."""
    options = {"tools": [SEARCH], "tool_choice": "required"}
    first = trial.response(
        (yield from trial.respond("Search for a tool that reports the weather.", **options))
    )
    calls = items_of(first, "tool_search_call")
    if not trial.expect(
        "responses:tools:search-call", bool(calls) and is_search(calls[0]), came(first)
    ):
        raise Stop("skipped", "There was no search.")
    found = {
        "type": "tool_search_output",
        "call_id": at(calls[0], "call_id"),
        "execution": "client",
        "status": "completed",
        "tools": [DEFERRED],
    }
    named = {"type": "function", "name": "get_weather"}
    again = {"tools": [SEARCH], "tool_choice": named, "previous_response_id": at(first, "id")}
    exchange = yield from trial.respond(
        [found, {"role": "user", "content": WEATHER_QUESTION}], **again
    )
    trial.offered(exchange)
    if trial.expect("responses:tools:search-output", is_accepted(exchange), exchange.came):
        names = [call.get("name") for call in calls_of(exchange.json)]
        trial.expect(
            "responses:tools:search-found", names[:1] == ["get_weather"], came(exchange.json)
        )


def is_search(call: dict[str, Any]) -> bool:
    """Whether a search is one that the client can run."""
    is_right = call.get("execution") == "client" and is_text(call.get("call_id"))
    return is_right and isinstance(call.get("arguments"), dict)


# Built-in tools.


WholeCheck = Callable[[dict[str, Any]], bool]


def are_texts(value: Any) -> bool:
    """Whether the value is a non-empty list of strings."""
    return isinstance(value, list) and bool(value) and all(isinstance(one, str) for one in value)


def has_operation(call: dict[str, Any]) -> bool:
    """Whether a patch has an operation and a file."""
    kind = at(call, "operation", "type")
    has_diff = isinstance(at(call, "operation", "diff"), str)
    is_known = kind == "delete_file" or (kind in ("create_file", "update_file") and has_diff)
    return is_known and is_text(at(call, "operation", "path"))


def has_actions(call: dict[str, Any]) -> bool:
    """Whether a computer call has one or several actions."""
    actions = [*listed(call, "actions"), *([call["action"]] if call.get("action") else [])]
    return bool(actions) and all(is_text(at(action, "type")) for action in actions)


SHELL = {"type": "shell", "environment": {"type": "local"}}
LOCAL_SHELL = {"type": "local_shell"}

APPLY_PATCH = {"type": "apply_patch"}
COMPUTER = {"type": "computer"}


def has_commands(call: dict[str, Any]) -> bool:
    """Whether a shell call has commands."""
    return are_texts(at(call, "action", "commands"))


def executes(call: dict[str, Any]) -> bool:
    """Whether a local shell call has a command to execute."""
    return at(call, "action", "type") == "exec" and are_texts(at(call, "action", "command"))


def built_in(
    name: str,
    called: str,
    tool: dict[str, Any],
    options: str,
    has: str,
    is_whole: WholeCheck,
    action: dict[str, Any],
) -> Case:
    """Return the case of a tool: the model must call it, since it is the only one.

    `called` is the tool's name in prose, `has` what a call has in addition to an id, a `call_id`
    and a status, `is_whole` whether a call has it, and `action` an example of it.
    """
    area = f"responses:tools:{name}"
    kind = f"{tool['type']}_call"
    good = replies.built_in(tool, kind, action)
    without_action = replies.built_in(tool, kind, {})
    echoed = should(
        f"{area}-told",
        "spec 6",
        f"A {called} tool is echoed in `tools`, or rejected.",
        fault=[good.patched("tools", to=[])],
    )
    whole = must(
        f"{area}-item",
        "spec 5",
        f"A {called} call has an id, a `call_id`, a status, and {has}.",
        fault=[without_action],
    )
    used = capability(
        should(
            f"{area}-used",
            "spec 6",
            f"The model uses the {called} tool when it must call one.",
            fault=[replies.TEXT.patched("tools", to=[tool])],
        )
    )

    def script(trial: Trial) -> Steps:
        exchange = yield from trial.respond(options, tools=[tool], tool_choice="required")
        trial.supported(exchange)
        types = [at(tool, "type") for tool in listed(exchange.json, "tools")]
        trial.expect(
            echoed.id, 400 <= exchange.status < 500 or tool["type"] in types, exchange.came
        )
        response = trial.response(exchange)
        calls = items_of(response, kind)
        if not trial.expect(used.id, bool(calls), came(response)):
            raise Stop("skipped", "The tool was not used.")
        are_named = all(
            is_text(one.get(key)) for one in calls for key in ("id", "call_id", "status")
        )
        trial.expect(whole.id, are_named and all(map(is_whole, calls)), calls)

    script.__doc__ = f"Require a call where {tool['type']} is the only tool."
    return Case(f"built_in_{name.replace('-', '_')}", (echoed, whole, used), script, good=[good])


BUILT_IN = (
    built_in(
        "shell",
        "shell",
        SHELL,
        "List the files here by the shell.",
        "a list of commands",
        has_commands,
        {"action": {"commands": ["ls"]}},
    ),
    built_in(
        "local-shell",
        "local shell",
        LOCAL_SHELL,
        "List the files here by the shell.",
        "an action `exec` with its command",
        executes,
        {"action": {"type": "exec", "command": ["ls"], "env": {}}},
    ),
    built_in(
        "apply-patch",
        "patch",
        APPLY_PATCH,
        "Create the file hello.txt with one line: hello.",
        "an operation on a path, and a diff unless it deletes",
        has_operation,
        {"operation": {"type": "create_file", "path": "hello.txt", "diff": "+hello"}},
    ),
    built_in(
        "computer",
        "computer",
        COMPUTER,
        "Take a screenshot.",
        "its actions, each with a type",
        has_actions,
        {"actions": [{"type": "screenshot"}], "pending_safety_checks": []},
    ),
)


# Calls of the history, and their outputs.


def history(
    call: dict[str, Any], output: Any, *tools: dict[str, Any], **fields: Any
) -> dict[str, Any]:
    """Return a request with a call of the turn before, and its output."""
    calling = {"call_id": "call_1", "status": "completed", **call}
    kind = calling["type"]
    answering = {
        "type": "tool_search_output" if kind == "tool_search_call" else f"{kind}_output",
        "call_id": "call_1",
    }
    answering |= {"output": output} if output is not None else {}
    question = {"role": "user", "content": "Please do."}
    return {"input": [question, calling, answering | fields, question], "tools": list(tools)}


CUSTOM_CALL = {"type": "custom_tool_call", "name": "write_note", "input": "Buy tea."}

EXIT = {"stdout": "hello.txt", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}

HISTORIES = (
    accepted(
        should(
            "responses:tools:custom-history",
            "client codex",
            "A custom tool's call and output in a history are accepted.",
        ),
        **history(CUSTOM_CALL, "Done.", NOTE),
    ),
    accepted(
        should(
            "responses:tools:custom-parts",
            "spec 5",
            "The output of a custom tool can be a list of parts.",
        ),
        **history(CUSTOM_CALL, [{"type": "input_text", "text": "Done."}], NOTE),
    ),
    accepted(
        should(
            "responses:tools:namespace-history",
            "client codex",
            "A call with `namespace` in a history is accepted as the model's call.",
        ),
        **history(
            {
                "type": "function_call",
                "name": "get_weather",
                "namespace": "world",
                "arguments": '{"city": "Paris"}',
            },
            "Sunny.",
            WORLD,
        ),
    ),
    accepted(
        should(
            "responses:tools:search-history",
            "client codex",
            "A search and its output in a history are accepted.",
        ),
        **history(
            {
                "type": "tool_search_call",
                "execution": "client",
                "arguments": {"goal": "the weather"},
            },
            None,
            SEARCH,
            execution="client",
            status="completed",
            tools=[DEFERRED],
        ),
    ),
    accepted(
        should(
            "responses:tools:shell-history",
            "spec 5",
            "A shell call and its output in the history are accepted.",
        ),
        **history({"type": "shell_call", "action": {"commands": ["ls"]}}, [EXIT], SHELL),
    ),
    accepted(
        should(
            "responses:tools:local-shell-history",
            "spec 5",
            "A local shell call and its output in the history are accepted.",
        ),
        **history(
            {
                "type": "local_shell_call",
                "id": "lsh_00000000000000000000000000000001",
                "action": {"type": "exec", "command": ["ls"], "env": {}},
            },
            "hello.txt",
            LOCAL_SHELL,
            id="lsh_00000000000000000000000000000001",
        ),
    ),
    accepted(
        should(
            "responses:tools:apply-patch-history",
            "spec 5",
            "A patch call and its output in the history are accepted.",
        ),
        **history(
            {
                "type": "apply_patch_call",
                "operation": {"type": "create_file", "path": "hello.txt", "diff": "+hello"},
            },
            "Done.",
            APPLY_PATCH,
            status="completed",
        ),
    ),
    accepted(
        capability(
            should(
                "responses:tools:computer-history",
                "spec 5",
                "A computer call and its output in the history are accepted.",
            )
        ),
        **history(
            {
                "type": "computer_call",
                "id": "cu_00000000000000000000000000000001",
                "actions": [{"type": "screenshot"}],
                "pending_safety_checks": [],
            },
            {"type": "computer_screenshot", "image_url": png("blue")},
            COMPUTER,
        ),
    ),
)
