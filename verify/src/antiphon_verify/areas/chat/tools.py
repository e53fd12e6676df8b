"""Tool calls of Chat Completions."""

from typing import Any

from antiphon_verify.areas.chat.answer import text_of
from antiphon_verify.areas.chat.stream import choices_of
from antiphon_verify.case import case
from antiphon_verify.exchange import parsed
from antiphon_verify.reading import at, fits, is_integer, is_text, listed, preview
from antiphon_verify.replies import changed, chunks
from antiphon_verify.replies.chat import tools as replies
from antiphon_verify.replies.completions import CALL, CHUNKS, ROLE, chunk
from antiphon_verify.requirement import Stop, capability, must, should
from antiphon_verify.samples import CHAT_TOOLS, CITY, WEATHER_QUESTION, accepted, spelled
from antiphon_verify.trial import Steps, Trial

API = "chat-api tools"


NAMES = {"get_weather", "get_time"}

BOTH = spelled(
    "Call get_weather and get_time for Paris.",
    'get_weather {"city": "Paris"}',
    'get_time {"city": "Paris"}',
)

USER = {"role": "user", "content": WEATHER_QUESTION}


def named(name: str) -> dict[str, Any]:
    """Return the `tool_choice` of a function."""
    return {"type": "function", "function": {"name": name}}


def calls_of(completion: Any) -> list[Any]:
    """Return the tool calls of the first choice."""
    return listed(completion, "choices", 0, "message", "tool_calls")


def name_of(call: Any) -> str:
    """Return the name of the function of a tool call, empty without one."""
    name = at(call, "function", "name")
    return name if isinstance(name, str) else ""


def arguments_of(call: Any) -> Any:
    """Return the arguments of a tool call as JSON, `MISSING` if they are not JSON."""
    text = at(call, "function", "arguments")
    return parsed(text.encode("utf-8", "replace")) if isinstance(text, str) else parsed(b"")


def came(completion: Any) -> str:
    """Return in words what the response has instead of a tool call."""
    return preview(at(completion, "choices", 0))


@case(
    must(
        "chat:tools:required",
        API,
        "With `tool_choice: required` the model calls a tool.",
        fault=[replies.TEXT],
    ),
    must(
        "chat:tools:shape",
        API,
        "A tool call has an `id`, the type `function`, and a function with a name.",
        fault=[replies.GOOD.without(*replies.MESSAGE, "tool_calls", 0, "id")],
    ),
    must(
        "chat:tools:name",
        API,
        "The function of a tool call is one of the tools in the request.",
        fault=[replies.with_calls(replies.named("fetch_weather"))],
    ),
    must(
        "chat:tools:arguments",
        API,
        "The `arguments` of a tool call are a string with a JSON object.",
        fault=[replies.GOOD.patched(*replies.ARGUMENTS, to={"city": "Paris"})],
    ),
    must(
        "chat:tools:content",
        API,
        "With tool calls, `content` is a string or null.",
        fault=[replies.GOOD.patched(*replies.MESSAGE, "content", to=["Calling."])],
    ),
    must(
        "chat:tools:finish-reason",
        API,
        "A response with tool calls has the finish reason `tool_calls`.",
        fault=[replies.with_calls(CALL, finish_reason="stop")],
    ),
    should(
        "chat:tools:strict-fits",
        API,
        "The arguments of a strict tool match its schema.",
        fault=[replies.GOOD.patched(*replies.ARGUMENTS, to='{"town": "Paris"}')],
    ),
    good=[replies.GOOD],
)
def a_chat_call_is_required(trial: Trial) -> Steps:
    """Require a tool call."""
    completion = trial.completion(
        (yield from trial.chat(WEATHER_QUESTION, tools=CHAT_TOOLS, tool_choice="required"))
    )
    calls = calls_of(completion)
    if not trial.expect("chat:tools:required", bool(calls), came(completion)):
        raise Stop("skipped", "There was no call.")
    are_calls = all(
        is_text(at(one, "id")) and at(one, "type") == "function" and name_of(one) for one in calls
    )
    trial.expect("chat:tools:shape", are_calls, calls)
    trial.expect("chat:tools:name", {name_of(one) for one in calls} <= NAMES, calls)
    arguments = [arguments_of(one) for one in calls]
    trial.expect("chat:tools:arguments", all(isinstance(one, dict) for one in arguments), calls)
    trial.expect("chat:tools:strict-fits", all(fits(one, CITY) for one in arguments), calls)
    content = at(completion, "choices", 0, "message", "content")
    trial.expect("chat:tools:content", not content or isinstance(content, str), preview(content))
    reason = at(completion, "choices", 0, "finish_reason")
    trial.expect("chat:tools:finish-reason", reason == "tool_calls", preview(reason))


@case(
    must(
        "chat:tools:named",
        API,
        "With a `tool_choice` that names a function the model calls this function.",
        fault=[replies.GOOD],
    ),
    should(
        "chat:tools:finish-reason-named",
        API,
        "A response to a named `tool_choice` has the finish reason `stop` or `tool_calls`.",
        fault=[replies.with_calls(replies.TIME, finish_reason="length")],
    ),
    good=[replies.with_calls(replies.TIME)],
)
def a_named_chat_function_is_called(trial: Trial) -> Steps:
    """Name the function to call."""
    options = {"tools": CHAT_TOOLS, "tool_choice": named("get_time")}
    completion = trial.completion((yield from trial.chat("Say hello to Paris.", **options)))
    names = {name_of(one) for one in calls_of(completion)}
    trial.expect("chat:tools:named", names == {"get_time"}, came(completion))
    reason = at(completion, "choices", 0, "finish_reason")
    trial.expect(
        "chat:tools:finish-reason-named", reason in ("stop", "tool_calls"), preview(reason)
    )


@case(
    must(
        "chat:tools:none",
        API,
        "With `tool_choice: none` the model does not call a tool.",
        fault=[replies.GOOD],
    ),
    must(
        "chat:tools:empty-list",
        "client agents-sdk",
        "Tools that the model does not call do not change a text response.",
        fault=[replies.TEXT.patched("choices", 0, "finish_reason", to="tool_calls")],
    ),
    good=[replies.TEXT],
)
def no_chat_call_is_returned(trial: Trial) -> Steps:
    """Forbid tool calls."""
    completion = trial.completion(
        (yield from trial.chat(WEATHER_QUESTION, tools=CHAT_TOOLS, tool_choice="none"))
    )
    if trial.expect("chat:tools:none", not calls_of(completion), came(completion)):
        reason = at(completion, "choices", 0, "finish_reason")
        trial.expect("chat:tools:empty-list", reason in ("stop", "length"), preview(reason))


@case(
    must(
        "chat:tools:streamed-none",
        API,
        "With `tool_choice: none` a stream has no tool calls.",
        fault=[replies.STREAM],
    ),
    good=[chunks(*CHUNKS)],
)
def no_call_is_streamed(trial: Trial) -> Steps:
    """Forbid tool calls in a stream."""
    options = {"tools": CHAT_TOOLS, "tool_choice": "none", "stream": True}
    choices = choices_of(trial.streamed((yield from trial.chat(WEATHER_QUESTION, **options))))
    calling = [one for one in choices if at(one, "delta", "tool_calls")]
    trial.expect("chat:tools:streamed-none", not calling, calling)


@case(
    must(
        "chat:tools:streamed",
        "issue langchain#34654",
        "A streamed tool call has its id and name once, and its arguments in deltas.",
        fault=[chunks(ROLE, replies.PIECES[0], replies.HEAD, replies.PIECES[1], replies.DONE)],
    ),
    must(
        "chat:tools:streamed-index",
        "issue litellm#21331",
        "Every delta of a tool call has its index.",
        fault=[
            chunks(
                ROLE,
                changed(replies.HEAD, "choices", 0, "delta", "tool_calls", 0, "index", to=None),
                *replies.PIECES,
                replies.DONE,
            )
        ],
    ),
    must(
        "chat:tools:streamed-finish-reason",
        API,
        "A stream with tool calls has the finish reason `tool_calls`.",
        fault=[chunks(ROLE, replies.HEAD, *replies.PIECES, chunk({}, "stop"))],
    ),
    good=[replies.STREAM],
)
def a_chat_call_is_streamed(trial: Trial) -> Steps:
    """Stream a required tool call."""
    options = {"tools": CHAT_TOOLS, "tool_choice": "required", "stream": True}
    choices = choices_of(trial.streamed((yield from trial.chat(WEATHER_QUESTION, **options))))
    deltas = [delta for one in choices for delta in listed(one, "delta", "tool_calls")]
    if not deltas:
        raise Stop("skipped", "There was no call.")
    have_index = all(is_integer(at(delta, "index")) for delta in deltas)
    if trial.expect("chat:tools:streamed-index", have_index, deltas):
        trial.expect("chat:tools:streamed", all(map(is_whole, grouped(deltas))), deltas)
    reasons = [reason for one in choices if (reason := at(one, "finish_reason"))]
    trial.expect("chat:tools:streamed-finish-reason", reasons == ["tool_calls"], reasons)


def grouped(deltas: list[Any]) -> list[list[Any]]:
    """Return the deltas of each tool call."""
    calls: dict[int, list[Any]] = {}
    for delta in deltas:
        calls.setdefault(delta["index"], []).append(delta)
    return list(calls.values())


def is_whole(deltas: list[Any]) -> bool:
    """Whether the deltas of a tool call have id and name once, at first, and arguments that join to
    an object.
    """
    names = [name for one in deltas if (name := name_of(one))]
    ids = {str(one) for delta in deltas if (one := at(delta, "id"))}
    pieces = [piece for one in deltas if isinstance(piece := at(one, "function", "arguments"), str)]
    is_right = len(names) == 1 and len(ids) == 1 and name_of(deltas[0]) in NAMES
    return is_right and isinstance(parsed("".join(pieces).encode("utf-8", "replace")), dict)


@case(
    must(
        "chat:tools:distinct",
        API,
        "The tool calls of one response have different ids.",
        fault=[replies.with_calls(CALL, replies.TIME | {"id": "call_1"})],
    ),
    capability(
        should(
            "chat:tools:parallel",
            API,
            "The model calls both tools when the prompt requires both.",
            fault=[replies.GOOD],
        )
    ),
    good=[replies.with_calls(CALL, replies.TIME)],
)
def two_chat_calls_are_requested(trial: Trial) -> Steps:
    """Request two tool calls."""
    completion = trial.completion(
        (yield from trial.chat(BOTH, tools=CHAT_TOOLS, tool_choice="required"))
    )
    calls = calls_of(completion)
    trial.expect("chat:tools:parallel", {name_of(one) for one in calls} == NAMES, came(completion))
    if len(calls) > 1:
        ids = [str(at(one, "id")) for one in calls]
        trial.expect("chat:tools:distinct", len(set(ids)) == len(ids), ids)


@case(
    should(
        "chat:tools:one-at-a-time",
        API,
        "With `parallel_tool_calls: false` a response has at most one tool call.",
        fault=[replies.with_calls(CALL, replies.TIME)],
    ),
    good=[replies.GOOD],
)
def chat_calls_come_one_at_a_time(trial: Trial) -> Steps:
    """Request two tool calls, and allow one."""
    options = {"tools": CHAT_TOOLS, "tool_choice": "required", "parallel_tool_calls": False}
    calls = calls_of(trial.completion((yield from trial.chat(BOTH, **options))))
    if calls:
        trial.expect("chat:tools:one-at-a-time", len(calls) == 1, calls)


def calling(*ids: str, **fields: Any) -> dict[str, Any]:
    """Return an assistant message that calls get_weather under these ids."""
    function = {"name": "get_weather", "arguments": '{"city": "Paris"}'}
    calls = [{"id": one, "type": "function", "function": function} for one in ids]
    return {"role": "assistant", "content": "", "tool_calls": calls, **fields}


def result(id: str, content: Any = "It is 21 degrees.") -> dict[str, Any]:
    """Return a tool message."""
    return {"role": "tool", "tool_call_id": id, "content": content}


ONE = calling("call_1")


ACCEPTED = (
    accepted(
        must(
            "chat:tools:null-content",
            "issue agents#2238",
            "The `content` of a message with tool calls can be null.",
        ),
        tools=CHAT_TOOLS,
        messages=[USER, calling("call_1", content=None), result("call_1")],
    ),
    accepted(
        should(
            "chat:tools:no-content",
            "issue agents#2238",
            "The `content` of a message with tool calls can be absent.",
        ),
        tools=CHAT_TOOLS,
        messages=[
            USER,
            {name: value for name, value in ONE.items() if name != "content"},
            result("call_1"),
        ],
    ),
    accepted(
        must("chat:tools:results", API, "The results of several tool calls are accepted."),
        tools=CHAT_TOOLS,
        messages=[USER, calling("call_1", "call_2"), result("call_1"), result("call_2")],
    ),
    accepted(
        should("chat:tools:result-parts", API, "A tool result can be a list of text parts."),
        tools=CHAT_TOOLS,
        messages=[USER, ONE, result("call_1", [{"type": "text", "text": "It is 21 degrees."}])],
    ),
    accepted(
        must(
            "chat:tools:empty-result", "issue agents#3310", "A tool result can be an empty string."
        ),
        tools=CHAT_TOOLS,
        messages=[USER, ONE, result("call_1", "")],
    ),
    accepted(
        must(
            "chat:tools:three-turns", API, "Tool calls and results of several turns are accepted."
        ),
        tools=CHAT_TOOLS,
        messages=[
            *(USER, ONE, result("call_1"), {"role": "assistant", "content": "It is 21 degrees."}),
            *(USER, calling("call_2"), result("call_2")),
        ],
    ),
)


@case(
    must(
        "chat:tools:result",
        API,
        "A tool call and its result in the history are accepted.",
        fault=[replies.REJECTED],
    ),
    capability(
        should(
            "chat:tools:used",
            API,
            "The model uses the result of a tool in its answer.",
            fault=[replies.TEXT],
        )
    ),
    good=[replies.TEXT.patched(*replies.MESSAGE, "content", to="It is 21 degrees in Paris.")],
)
def a_result_is_used(trial: Trial) -> Steps:
    """Send the result of a tool call."""
    completion = trial.completion(
        (yield from trial.chat([USER, ONE, result("call_1")], tools=CHAT_TOOLS))
    )
    trial.expect("chat:tools:result", True)
    trial.expect("chat:tools:used", "21" in text_of(completion), came(completion))


@case(
    should(
        "chat:tools:result-alone",
        API,
        "A tool result without a tool call is rejected with 400.",
        fault=[replies.TEXT],
    ),
    good=[replies.REJECTED],
)
def a_result_without_a_call_is_refused(trial: Trial) -> Steps:
    """Send a tool result without a tool call."""
    exchange = yield from trial.chat([USER, result("call_9")], tools=CHAT_TOOLS)
    trial.supported(exchange)
    trial.expect("chat:tools:result-alone", exchange.status == 400, exchange.came)


@case(
    must(
        "chat:tools:no-parameters",
        API,
        "A tool without parameters can be offered and called.",
        fault=[replies.GOOD],
    ),
    good=[replies.with_calls(replies.named("get_news"))],
)
def a_chat_tool_without_parameters_is_called(trial: Trial) -> Steps:
    """Require a call of a tool without parameters."""
    tool = {"type": "function", "function": {"name": "get_news", "description": "Report the news."}}
    completion = trial.completion(
        (yield from trial.chat("Call get_news.", tools=[tool], tool_choice="required"))
    )
    names = {name_of(one) for one in calls_of(completion)}
    trial.expect("chat:tools:no-parameters", names == {"get_news"}, came(completion))


@case(
    capability(
        should(
            "chat:tools:unforced",
            API,
            "The model calls a tool that it needs without being forced.",
            fault=[replies.TEXT],
        )
    ),
    capability(
        should(
            "chat:tools:chosen",
            API,
            "The model chooses the right tool of two.",
            fault=[replies.with_calls(replies.TIME)],
        )
    ),
    capability(
        should(
            "chat:tools:argued",
            API,
            "The model passes the right argument.",
            fault=[replies.GOOD.patched(*replies.ARGUMENTS, to='{"city": "Rome"}')],
        )
    ),
    good=[replies.GOOD],
)
def the_chat_model_chooses(trial: Trial) -> Steps:
    """Send a question that one of two tools can answer."""
    completion = trial.completion(
        (yield from trial.chat("What is the weather in Paris now?", tools=CHAT_TOOLS[::-1]))
    )
    calls = calls_of(completion)
    if trial.expect("chat:tools:unforced", bool(calls), came(completion)):
        trial.expect("chat:tools:chosen", {name_of(one) for one in calls} == {"get_weather"}, calls)
        cities = [at(arguments_of(one), "city") for one in calls]
        are_right = all(isinstance(one, str) and "paris" in one.lower() for one in cities)
        trial.expect("chat:tools:argued", are_right, cities)
