"""Which tool a call means, whatever the model wrote around its name."""

from typing import Any

from antiphon.protocol.tool_bindings import Offer
from antiphon.testing import assert_event_stream
from antiphon.translation.from_chat.call_names import closest_name
from tests.support.cases import each
from tests.support.replay import delta, sse
from tests.support.translate import Translation, translate, translate_plain

WEATHER = ("get_weather", "get_time")
CALENDAR = Offer("calendar__create", name="create", namespace="calendar")
TASKS = Offer("tasks__create", name="create", namespace="tasks")

ONE_TOOL = [
    "get_weather<|channel|>commentary",
    "get_weather<|channel|>analysis",
    "get_weather<|channel|>json",
    "get_weather<|constrain|>json",
    "get_weather<|message|>",
    "get_weather<|end|><|start|>assistant",
    "<|start|>assistant<|channel|>commentary to=functions.get_weather",
    "assistant<|channel|>commentary to=functions.get_weather<|constrain|>json",
    "to=functions.get_weather",
    "commentary to=get_weather",
    "<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather",
    "<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>",
    "functions.get_weather",
    "functions.get_weather:0",
    "functions:get_weather",
    "functions/get_weather",
    "default_api.get_weather",
    "default_api:get_weather",
    "tools.functions.get_weather",
    " get_weather ",
    "\nget_weather\n",
    '"get_weather"',
    "`get_weather`",
    "Get_Weather",
    "GET_WEATHER",
    "getWeather",
    "get-weather",
    "Functions.Get_Weather<|channel|>commentary",
]
"""Spellings of `get_weather` that were not recognised."""

NO_TOOL = [
    "get_whether",
    "weather",
    "get_weather_now",
    "get_weather get_time",
    "get_weather<|channel|>get_time",
    "delete get_weather",
    "<|constrain|>json",
    "___",
    "<|channel|>",
]
"""Names that mean no tool for certain."""


def call_chunks(*names: str, arguments: str = '{"city": "Paris"}') -> list[dict[str, Any]]:
    """A streamed call whose name arrives in pieces."""
    first = {
        "index": 0,
        "id": "call_a",
        "type": "function",
        "function": {"name": names[0], "arguments": ""},
    }
    rest = [{"index": 0, "function": {"name": name}} for name in names[1:]]
    last = {"index": 0, "function": {"arguments": arguments}}
    return [*(delta(tool_calls=[call]) for call in (first, *rest, last)), delta("tool_calls")]


def called(name: str, mode: str, names: tuple[str, ...] = WEATHER) -> Translation:
    if mode == "plain":
        function = {"name": name, "arguments": '{"city": "Paris"}'}
        message = {"tool_calls": [{"id": "call_a", "type": "function", "function": function}]}
        return translate_plain(
            {"choices": [{"message": message, "finish_reason": "tool_calls"}]}, names=names
        )
    pieces = [name] if mode == "streamed" else list(name)
    translation = translate(sse(*call_chunks(*pieces)), names=names)
    assert_event_stream(translation.events)
    return translation


@each("mode", ["plain", "streamed"])
@each("name", ONE_TOOL)
def test_what_surrounds_the_name_of_a_tool_is_removed(name: str, mode: str) -> None:
    assert called(name, mode).calls == [("get_weather", '{"city": "Paris"}')]


@each(
    "pieces",
    [(" get", "_weather "), ("functions", ".get_", "weather"), ("Get_", "Weather", "<|x|>")],
)
def test_a_name_with_more_in_it_can_arrive_in_pieces(pieces: tuple[str, ...]) -> None:
    assert translate(sse(*call_chunks(*pieces)), names=WEATHER).calls == [
        ("get_weather", '{"city": "Paris"}')
    ]


@each("mode", ["plain", "streamed"])
@each("name", NO_TOOL)
def test_a_name_that_means_no_tool_stays_as_the_model_wrote_it(
    name: str, mode: str
) -> None:  # a guard
    assert called(name, mode).calls == [(name, '{"city": "Paris"}')]


@each("name", ["Ping", "functions.PING", "p-ing"])
def test_a_name_that_means_two_tools_stays_as_the_model_wrote_it(name: str) -> None:  # a guard
    assert called(name, "streamed", ("ping", "PInG")).calls == [(name, '{"city": "Paris"}')]


def test_the_closest_spelling_counts() -> None:
    assert called("functions.ping", "streamed", ("ping", "Ping")).calls[0][0] == "ping"
    assert called("functions.Ping", "streamed", ("ping", "Ping")).calls[0][0] == "Ping"


@each(
    ("name", "expected"),
    [
        ("calendar.create", CALENDAR),
        ("tasks/create", TASKS),
        ("Calendar__Create", CALENDAR),
        ("create", None),
    ],
)
def test_a_namespace_distinguishes_tools_with_the_same_name(
    name: str, expected: Offer | None
) -> None:
    assert closest_name(name, [CALENDAR, TASKS]) == (expected or Offer(name, name=name))


def test_a_call_without_arguments_keeps_its_place_among_others() -> None:
    calls = [
        {"index": n, "id": f"call_{n}", "function": {"name": name}}
        for n, name in enumerate(["odd", "Get_Time"])
    ]
    translation = translate(sse(delta(tool_calls=calls), delta("tool_calls")), names=WEATHER)
    assert [name for name, _ in translation.calls] == ["odd", "get_time"]
