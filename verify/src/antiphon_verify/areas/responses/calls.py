"""Function calls, forced and chosen."""

from typing import Any

from antiphon_verify.areas.responses.text import output_of, text_of
from antiphon_verify.case import case
from antiphon_verify.events.streams import STREAMS
from antiphon_verify.exchange import parsed
from antiphon_verify.reading import at, fits, is_text, preview
from antiphon_verify.replies import streams
from antiphon_verify.replies.bodies import CALL
from antiphon_verify.replies.responses import calls as replies
from antiphon_verify.requirement import Stop, capability, must, should
from antiphon_verify.samples import CITY, TIME, TOOLS, WEATHER, WEATHER_QUESTION, spelled
from antiphon_verify.soundness import STREAM_IDS, judge_stream
from antiphon_verify.trial import Steps, Trial, is_response

NAMES = {"get_weather", "get_time"}

BOTH = spelled(
    "Call get_weather and get_time for Paris.",
    'get_weather {"city": "Paris"}',
    'get_time {"city": "Paris"}',
)

TWO_CITIES = "What is the weather in Paris, and what is it in Rome?"


def calls_of(response: Any) -> list[dict[str, Any]]:
    """Return the function calls."""
    return [item for item in output_of(response) if item.get("type") == "function_call"]


def arguments_of(call: dict[str, Any]) -> Any:
    """Return the arguments of a call as JSON, `MISSING` if they are not JSON."""
    text = call.get("arguments")
    return parsed(text.encode("utf-8", "replace")) if isinstance(text, str) else parsed(b"")


def cities_of(calls: list[dict[str, Any]]) -> list[str]:
    """Return the cities in the arguments of calls, in lower case."""
    return [str(at(arguments_of(call), "city")).lower() for call in calls]


def came(response: Any) -> str:
    """Return in words what the response has instead of a call."""
    return preview(at(response, "output"))


@case(
    must(
        "responses:calls:required",
        "spec 6",
        "With `tool_choice: required` the model calls a tool.",
        fault=[replies.TEXT],
    ),
    must(
        "responses:calls:name",
        "spec 5",
        "The `name` of a call is that of a tool in the request.",
        fault=[replies.with_output(replies.call_named("fetch_weather"))],
    ),
    must(
        "responses:calls:call-id",
        "spec 5",
        "A call has a `call_id`.",
        fault=[replies.GOOD.without("output", 0, "call_id")],
    ),
    must(
        "responses:calls:arguments",
        "spec 5",
        "The `arguments` of a call are a string with a JSON object.",
        fault=[replies.GOOD.patched("output", 0, "arguments", to={"city": "Paris"})],
    ),
    must(
        "responses:calls:id",
        "client pydantic-ai",
        "A call has an `id` in addition to its `call_id`.",
        fault=[replies.GOOD.without("output", 0, "id")],
    ),
    should(
        "responses:calls:id-prefix",
        "spec 3",
        "The id of a call begins with `fc_`.",
        fault=[replies.GOOD.patched("output", 0, "id", to="call_1")],
    ),
    should(
        "responses:calls:status",
        "spec 5",
        "The status of a complete call is `completed`.",
        fault=[replies.GOOD.without("output", 0, "status")],
    ),
    must(
        "responses:calls:response-status",
        "spec 3",
        "The status of a response that ends with a call is `completed`.",
        fault=[replies.GOOD.patched("status", to="incomplete")],
    ),
    should(
        "responses:calls:strict-fits",
        "spec 6",
        "The arguments of a strict tool match its schema.",
        fault=[replies.GOOD.patched("output", 0, "arguments", to='{"town": "Paris"}')],
    ),
    good=[replies.GOOD],
)
def a_call_is_required(trial: Trial) -> Steps:
    """Require a call."""
    response = trial.response(
        (yield from trial.respond(WEATHER_QUESTION, tools=TOOLS, tool_choice="required"))
    )
    calls = calls_of(response)
    if not trial.expect("responses:calls:required", bool(calls), came(response)):
        raise Stop("skipped", "There was no call.")
    if is_text(at(response, "incomplete_details", "reason")):
        raise Stop("skipped", "The model did not finish its call.")
    judge_calls(trial, calls)
    trial.expect(
        "responses:calls:response-status",
        response.get("status") == "completed",
        preview(response.get("status")),
    )


def judge_calls(trial: Trial, calls: list[dict[str, Any]]) -> None:
    """Judge what every call must have."""
    ids = [call.get("id") for call in calls]
    arguments = [arguments_of(call) for call in calls]
    trial.expect(
        "responses:calls:name",
        all(is_text(n := call.get("name")) and n in NAMES for call in calls),
        calls,
    )
    trial.expect(
        "responses:calls:call-id", all(is_text(call.get("call_id")) for call in calls), calls
    )
    trial.expect(
        "responses:calls:arguments", all(isinstance(one, dict) for one in arguments), calls
    )
    trial.expect("responses:calls:id", all(map(is_text, ids)), calls)
    trial.expect(
        "responses:calls:id-prefix", all(is_text(one) and one.startswith("fc_") for one in ids), ids
    )
    trial.expect(
        "responses:calls:status", all(call.get("status") == "completed" for call in calls), calls
    )
    trial.expect("responses:calls:strict-fits", all(fits(one, CITY) for one in arguments), calls)


@case(
    must(
        "responses:calls:named",
        "spec 6",
        "With a `tool_choice` that names a function the model calls this function.",
        fault=[replies.GOOD],
    ),
    good=[replies.with_output(replies.call_named("get_time"))],
)
def a_named_function_is_called(trial: Trial) -> Steps:
    """Name the function to call."""
    choice = {"type": "function", "name": "get_time"}
    response = trial.response(
        (yield from trial.respond("Say hello to Paris.", tools=TOOLS, tool_choice=choice))
    )
    names = [call.get("name") for call in calls_of(response)]
    trial.expect(
        "responses:calls:named",
        bool(names) and set(map(str, names)) == {"get_time"},
        came(response),
    )


@case(
    must(
        "responses:calls:none",
        "spec 6",
        "With `tool_choice: none` the model does not call a tool.",
        fault=[replies.GOOD],
    ),
    good=[replies.TEXT],
)
def no_call_is_returned(trial: Trial) -> Steps:
    """Forbid calls."""
    response = trial.response(
        (yield from trial.respond(WEATHER_QUESTION, tools=TOOLS, tool_choice="none"))
    )
    trial.expect("responses:calls:none", not calls_of(response), came(response))


@case(
    must(
        "responses:calls:distinct",
        "issue litellm#21331",
        "The calls of one response have different call ids.",
        fault=[replies.with_output(CALL, replies.TIME | {"call_id": "call_1"})],
    ),
    capability(
        should(
            "responses:calls:parallel",
            "spec 6",
            "The model calls both tools when the prompt requires both.",
            fault=[replies.GOOD],
        )
    ),
    good=[replies.with_output(CALL, replies.TIME)],
)
def two_calls_are_requested(trial: Trial) -> Steps:
    """Request two calls."""
    response = trial.response((yield from trial.respond(BOTH, tools=TOOLS, tool_choice="required")))
    calls = calls_of(response)
    names = sorted(str(call.get("name")) for call in calls)
    trial.expect("responses:calls:parallel", names == sorted(NAMES), came(response))
    if len(calls) > 1:
        ids = [str(call.get("call_id")) for call in calls]
        trial.expect("responses:calls:distinct", len(set(ids)) == len(ids), ids)


@case(
    must(
        "responses:calls:one-at-a-time",
        "spec 2",
        "With `parallel_tool_calls: false` a response has at most one call.",
        fault=[replies.with_output(CALL, replies.ROME)],
    ),
    good=[replies.GOOD],
)
def calls_come_one_at_a_time(trial: Trial) -> Steps:
    """Request two calls, and allow one."""
    options = {"tools": TOOLS, "tool_choice": "required", "parallel_tool_calls": False}
    calls = calls_of(trial.response((yield from trial.respond(BOTH, **options))))
    if calls:
        trial.expect("responses:calls:one-at-a-time", len(calls) == 1, calls)


@case(
    must(
        "responses:calls:output",
        "spec 5",
        "The output of a call, sent with `previous_response_id`, is accepted.",
        fault=[replies.GOOD, replies.REJECTED],
    ),
    capability(
        should(
            "responses:calls:used",
            "spec 5",
            "The model's answer uses the output of a call.",
            fault=[replies.GOOD, replies.TEXT],
        )
    ),
    good=[replies.GOOD, replies.SUNNY],
)
def an_output_is_sent(trial: Trial) -> Steps:
    """Force a call, and send its output."""
    first = trial.response(
        (yield from trial.respond(WEATHER_QUESTION, tools=[WEATHER], tool_choice="required"))
    )
    outputs = outputs_for(calls_of(first))
    exchange = yield from trial.respond(
        outputs, tools=[WEATHER], previous_response_id=at(first, "id")
    )
    trial.offered(exchange)
    if trial.expect(
        "responses:calls:output", exchange.is_ok and is_response(exchange.json), exchange.came
    ):
        trial.expect(
            "responses:calls:used", "sunny" in text_of(exchange.json).lower(), came(exchange.json)
        )


@case(
    must(
        "responses:calls:outputs",
        "spec 5",
        "The outputs of several calls are accepted in any order.",
        fault=[replies.REJECTED],
    ),
    good=[replies.TEXT],
)
def several_outputs_are_sent(trial: Trial) -> Steps:
    """Send a history with two calls, and their outputs in reverse order."""
    calls = [
        {
            "type": "function_call",
            "call_id": f"call_{city}",
            "name": "get_weather",
            "arguments": f'{{"city": "{city}"}}',
        }
        for city in ("Paris", "Rome")
    ]
    history = [{"role": "user", "content": TWO_CITIES}, *calls, *reversed(outputs_for(calls))]
    exchange = yield from trial.respond(history, tools=[WEATHER])
    trial.offered(exchange)
    trial.expect(
        "responses:calls:outputs", exchange.is_ok and is_response(exchange.json), exchange.came
    )


def outputs_for(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return an output for each call. Ends the case without calls."""
    if not calls:
        raise Stop("skipped", "There was no call.")
    return [
        {"type": "function_call_output", "call_id": call.get("call_id"), "output": "Sunny."}
        for call in calls
    ]


@case(
    should(
        "responses:calls:allowed",
        "open-responses 8",
        "With `allowed_tools`, the model calls no other tool.",
        fault=[replies.GOOD],
    ),
    good=[replies.with_output(replies.call_named("get_time"))],
)
def only_allowed_tools_are_called(trial: Trial) -> Steps:
    """Allow one tool of two, and prompt for the other."""
    choice = {
        "type": "allowed_tools",
        "mode": "required",
        "tools": [{"type": "function", "name": "get_time"}],
    }
    response = trial.response(
        (yield from trial.respond(WEATHER_QUESTION, tools=TOOLS, tool_choice=choice))
    )
    names = [str(call.get("name")) for call in calls_of(response)]
    trial.expect("responses:calls:allowed", set(names) <= {"get_time"}, names)


@case(
    must(
        "responses:calls:no-parameters",
        "spec 6",
        "A tool without parameters can be offered and called.",
        fault=[replies.TEXT],
    ),
    good=[replies.with_output(replies.call_named("get_news"))],
)
def a_tool_without_parameters_is_called(trial: Trial) -> Steps:
    """Force a call of a tool without parameters."""
    tool = {"type": "function", "name": "get_news", "description": "Report the news."}
    response = trial.response(
        (yield from trial.respond("Call get_news.", tools=[tool], tool_choice="required"))
    )
    calls = calls_of(response)
    trial.expect(
        "responses:calls:no-parameters",
        [call.get("name") for call in calls[:1]] == ["get_news"],
        came(response),
    )


@case(
    must(
        "responses:calls:streamed",
        "issue litellm#21090",
        "A forced call is the same streamed and not streamed.",
        fault=[streams(STREAMS["answer"])],
    ),
    must(
        "responses:calls:streamed-deltas",
        "client langchain",
        "The arguments of a streamed call arrive in deltas before `done`.",
        fault=[replies.streamed("response.function_call_arguments.delta")],
    ),
    asides=STREAM_IDS,
    good=[replies.streamed()],
)
def a_forced_call_comes_in_a_stream(trial: Trial) -> Steps:
    """Stream a forced call."""
    choice = {"type": "function", "name": "get_weather"}
    exchange = yield from trial.respond(
        WEATHER_QUESTION, tools=[WEATHER], tool_choice=choice, stream=True
    )
    events = trial.streamed(exchange)
    judge_stream(trial, events)
    items = [
        event.get("item") for event in events if event.get("type") == "response.output_item.done"
    ]
    calls = calls_of({"output": items})
    if trial.expect(
        "responses:calls:streamed",
        any(one.get("name") == "get_weather" for one in calls),
        preview(items),
    ):
        are_in_pieces = comes_in_deltas(events, "response.function_call_arguments")
        trial.expect(
            "responses:calls:streamed-deltas", are_in_pieces, "No delta arrived before `done`."
        )


def comes_in_deltas(events: list[dict[str, Any]], name: str) -> bool:
    """Whether an event `name.delta` comes before the first `name.done`."""
    kinds = [
        kind
        for event in events
        if isinstance(kind := event.get("type"), str) and kind.startswith(name)
    ]
    return kinds[:1] == [f"{name}.delta"]


POEM = "Write a poem of one line."

FORCED_POEM = {
    "tools": [{"type": "custom", "name": "write_poem", "description": "Takes a poem of one line."}],
    "tool_choice": {"type": "custom", "name": "write_poem"},
}


@case(
    should(
        "responses:calls:custom",
        "spec 6",
        "The call of a custom tool is a `custom_tool_call` with a string `input`.",
        fault=[replies.GOOD],
    ),
    good=[replies.with_output(replies.CUSTOM)],
)
def a_custom_tool_is_called(trial: Trial) -> Steps:
    """Force a call of a custom tool."""
    response = trial.response((yield from trial.respond(POEM, **FORCED_POEM)))
    calls = [item for item in output_of(response) if item.get("type") == "custom_tool_call"]
    is_call = bool(calls) and all(
        isinstance(call.get("input"), str) and is_text(call.get("call_id")) for call in calls
    )
    trial.expect("responses:calls:custom", is_call, came(response))


@case(
    should(
        "responses:calls:custom-deltas",
        "spec 16",
        "The `input` of a streamed custom tool call arrives in deltas.",
        fault=[replies.streamed("response.custom_tool_call_input.delta")],
    ),
    asides=STREAM_IDS,
    good=[streams(STREAMS["calls"])],
)
def a_custom_tools_call_comes_in_a_stream(trial: Trial) -> Steps:
    """Stream a forced call of a custom tool."""
    events = trial.streamed((yield from trial.respond(POEM, **FORCED_POEM, stream=True)))
    judge_stream(trial, events)
    are_in_pieces = comes_in_deltas(events, "response.custom_tool_call_input")
    trial.expect("responses:calls:custom-deltas", are_in_pieces, "No delta arrived before `done`.")


@case(
    should(
        "responses:calls:namespace",
        "client codex",
        "A call of a namespaced tool has separate `name` and `namespace`.",
        fault=[replies.with_output(replies.call_named("world__get_weather"))],
    ),
    good=[replies.with_output(CALL | {"namespace": "world"})],
)
def a_tool_of_a_namespace_is_called(trial: Trial) -> Steps:
    """Force a call of a tool in a namespace."""
    tool = {
        "type": "namespace",
        "name": "world",
        "description": "Facts of the world.",
        "tools": [WEATHER],
    }
    response = trial.response(
        (yield from trial.respond(WEATHER_QUESTION, tools=[tool], tool_choice="required"))
    )
    named = [(call.get("namespace"), call.get("name")) for call in calls_of(response)]
    trial.expect(
        "responses:calls:namespace", named[:1] == [("world", "get_weather")], came(response)
    )


@case(
    capability(
        should(
            "responses:calls:unforced",
            "spec 6",
            "The model calls a tool that it needs without being forced.",
            fault=[replies.TEXT],
        )
    ),
    capability(
        should(
            "responses:calls:chosen",
            "spec 6",
            "The model chooses the right tool of two.",
            fault=[replies.with_output(replies.call_named("get_time"))],
        )
    ),
    capability(
        should(
            "responses:calls:argued",
            "spec 6",
            "The model passes the right argument.",
            fault=[replies.with_output(replies.ROME)],
        )
    ),
    good=[replies.GOOD],
)
def the_model_chooses(trial: Trial) -> Steps:
    """Send a question that one of two tools can answer."""
    response = trial.response(
        (yield from trial.respond("What is the weather in Paris now?", tools=[TIME, WEATHER]))
    )
    calls = calls_of(response)
    if trial.expect("responses:calls:unforced", bool(calls), came(response)):
        names = [str(call.get("name")) for call in calls]
        trial.expect("responses:calls:chosen", set(names) == {"get_weather"}, names)
        cities = cities_of(calls)
        trial.expect("responses:calls:argued", all("paris" in city for city in cities), cities)


@case(
    capability(
        should(
            "responses:calls:twice",
            "spec 6",
            "The model calls one tool twice when the prompt names two cities.",
            fault=[replies.GOOD],
        )
    ),
    good=[replies.with_output(CALL, replies.ROME)],
)
def two_cities_are_requested(trial: Trial) -> Steps:
    """Request the weather in two cities."""
    calls = calls_of(
        trial.response(
            (yield from trial.respond(f"{TWO_CITIES} Use get_weather.", tools=[WEATHER]))
        )
    )
    cities = sorted(cities_of(calls))
    are_both = len(cities) == 2 and "paris" in cities[0] and "rome" in cities[1]
    trial.expect("responses:calls:twice", are_both, cities or "no call")
