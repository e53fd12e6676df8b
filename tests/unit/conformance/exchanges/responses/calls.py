"""Function calls."""

from antiphon_verify.areas.responses import calls
from tests.unit.conformance.exchanges import Answer, Shown, error, says, shown, spoiled, streams
from tests.unit.conformance.exchanges.bodies import CALL, RESPONSE
from tests.unit.testing.events.streams import STREAMS

TEXT = says(RESPONSE)

CUSTOM = {"id": "ctc_1", "type": "custom_tool_call", "call_id": "call_1", "name": "write_poem", "input": "Roses."}

SUNNY = TEXT.patched("output", 0, "content", 0, "text", to="It is sunny in Paris.")

REFUSED = error("No tool call found.")


def calling(*items: dict[str, object]) -> Answer:
    return says(RESPONSE | {"output": list(items)})


def renamed(name: str) -> dict[str, object]:
    return CALL | {"name": name, "arguments": "{}" if name == "get_news" else CALL["arguments"]}


GOOD = calling(CALL)

ROME = CALL | {"id": "fc_2", "call_id": "call_2", "arguments": '{"city": "Rome"}'}

TIME = ROME | {"name": "get_time"}


def streamed(*dropped: str) -> Answer:
    """A streamed call of get_weather, without events of some types."""
    events = [
        one | {"item": {**one["item"], "name": "get_weather"}} if "item" in one else one for one in STREAMS["calls"]
    ]
    return streams([one for one in events if one["type"] not in dropped])


EXCHANGES: dict[str, Shown] = {
    **shown(
        calls.a_call_is_required,
        [GOOD],
        {
            "responses:calls:required": [TEXT],
            "responses:calls:name": [calling(renamed("fetch_weather"))],
            "responses:calls:call-id": [GOOD.without("output", 0, "call_id")],
            "responses:calls:arguments": [GOOD.patched("output", 0, "arguments", to={"city": "Paris"})],
            "responses:calls:id": [GOOD.without("output", 0, "id")],
            "responses:calls:id-prefix": [GOOD.patched("output", 0, "id", to="call_1")],
            "responses:calls:status": [GOOD.without("output", 0, "status")],
            "responses:calls:response-status": [GOOD.patched("status", to="incomplete")],
            "responses:calls:strict-fits": [GOOD.patched("output", 0, "arguments", to='{"town": "Paris"}')],
        },
    ),
    **shown(calls.a_named_function_is_called, [calling(renamed("get_time"))], {"responses:calls:named": [GOOD]}),
    **shown(calls.no_call_is_made, [TEXT], {"responses:calls:none": [GOOD]}),
    **shown(
        calls.two_calls_are_asked_for,
        [calling(CALL, TIME)],
        {
            "responses:calls:distinct": [calling(CALL, TIME | {"call_id": "call_1"})],
            "responses:calls:parallel": [GOOD],
        },
    ),
    **shown(calls.calls_come_one_at_a_time, [GOOD], {"responses:calls:one-at-a-time": [calling(CALL, ROME)]}),
    **shown(
        calls.an_output_is_sent,
        [GOOD, SUNNY],
        {"responses:calls:output": [GOOD, REFUSED], "responses:calls:used": [GOOD, TEXT]},
    ),
    **spoiled(calls.several_outputs_are_sent, [TEXT], [REFUSED]),
    **spoiled(calls.only_allowed_tools_are_called, [calling(renamed("get_time"))], [GOOD]),
    **spoiled(calls.a_tool_without_parameters_is_called, [calling(renamed("get_news"))], [TEXT]),
    **shown(
        calls.a_forced_call_comes_in_a_stream,
        [streamed()],
        {
            "responses:calls:streamed": [streams(STREAMS["answer"])],
            "responses:calls:streamed-deltas": [streamed("response.function_call_arguments.delta")],
        },
    ),
    **spoiled(calls.a_custom_tool_is_called, [calling(CUSTOM)], [GOOD]),
    **shown(
        calls.a_custom_tools_call_comes_in_a_stream,
        [streams(STREAMS["calls"])],
        {"responses:calls:custom-deltas": [streamed("response.custom_tool_call_input.delta")]},
    ),
    **spoiled(
        calls.a_tool_of_a_namespace_is_called,
        [calling(CALL | {"namespace": "world"})],
        [calling(renamed("world__get_weather"))],
    ),
    **shown(
        calls.the_model_chooses,
        [GOOD],
        {
            "responses:calls:unforced": [TEXT],
            "responses:calls:chosen": [calling(renamed("get_time"))],
            "responses:calls:argued": [calling(ROME)],
        },
    ),
    **spoiled(calls.two_cities_are_asked_for, [calling(CALL, ROME)], [GOOD]),
}
