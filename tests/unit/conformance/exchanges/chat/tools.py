"""Tool calls."""

from typing import Any

from antiphon_verify.areas.chat import tools
from tests.unit.conformance.exchanges import Answer, Shown, changed, chunks, error, says, shown, spoiled
from tests.unit.conformance.exchanges.completions import CALL, CHUNKS, COMPLETION, ROLE, chunk

TEXT = says(COMPLETION)

MESSAGE = ("choices", 0, "message")

REFUSED = error("Invalid value.")


def calling(*calls: dict[str, Any], finish_reason: str = "tool_calls") -> Answer:
    message = {"role": "assistant", "content": None, "tool_calls": list(calls)}
    return TEXT.patched(*MESSAGE, to=message).patched("choices", 0, "finish_reason", to=finish_reason)


def named(name: str, **fields: Any) -> dict[str, Any]:
    return changed(CALL, "function", "name", to=name) | fields


def piece(finish_reason: str | None = None, **fields: Any) -> dict[str, Any]:
    return chunk({"tool_calls": [{"index": 0, **fields}]}, finish_reason)


GOOD = calling(CALL)

ARGUMENTS = (*MESSAGE, "tool_calls", 0, "function", "arguments")

TIME = named("get_time", id="call_2")

HEAD = piece(id="call_1", type="function", function={"name": "get_weather", "arguments": ""})

PIECES = [piece(function={"arguments": one}) for one in ('{"city":', ' "Paris"}')]

DONE = chunk({}, "tool_calls")

STREAM = chunks(ROLE, HEAD, *PIECES, DONE)

EXCHANGES: dict[str, Shown] = {
    **shown(
        tools.a_chat_call_is_required,
        [GOOD],
        {
            "chat:tools:required": [TEXT],
            "chat:tools:shape": [GOOD.without(*MESSAGE, "tool_calls", 0, "id")],
            "chat:tools:name": [calling(named("fetch_weather"))],
            "chat:tools:arguments": [GOOD.patched(*ARGUMENTS, to={"city": "Paris"})],
            "chat:tools:strict-fits": [GOOD.patched(*ARGUMENTS, to='{"town": "Paris"}')],
            "chat:tools:content": [GOOD.patched(*MESSAGE, "content", to=["Calling."])],
            "chat:tools:finish-reason": [calling(CALL, finish_reason="stop")],
        },
    ),
    **shown(
        tools.a_named_chat_function_is_called,
        [calling(TIME)],
        {
            "chat:tools:named": [GOOD],
            "chat:tools:finish-reason-named": [calling(TIME, finish_reason="length")],
        },
    ),
    **shown(
        tools.no_chat_call_is_made,
        [TEXT],
        {
            "chat:tools:none": [GOOD],
            "chat:tools:empty-list": [TEXT.patched("choices", 0, "finish_reason", to="tool_calls")],
        },
    ),
    **spoiled(tools.no_call_is_streamed, [chunks(*CHUNKS)], [STREAM]),
    **shown(
        tools.a_chat_call_is_streamed,
        [STREAM],
        {
            "chat:tools:streamed": [chunks(ROLE, PIECES[0], HEAD, PIECES[1], DONE)],
            "chat:tools:streamed-index": [
                chunks(ROLE, changed(HEAD, "choices", 0, "delta", "tool_calls", 0, "index", to=None), *PIECES, DONE)
            ],
            "chat:tools:streamed-finish-reason": [chunks(ROLE, HEAD, *PIECES, chunk({}, "stop"))],
        },
    ),
    **shown(
        tools.two_chat_calls_are_asked_for,
        [calling(CALL, TIME)],
        {"chat:tools:parallel": [GOOD], "chat:tools:distinct": [calling(CALL, TIME | {"id": "call_1"})]},
    ),
    **spoiled(tools.chat_calls_come_one_at_a_time, [GOOD], [calling(CALL, TIME)]),
    **{name: one for case in tools.TAKING for name, one in spoiled(case, [TEXT], [REFUSED]).items()},
    **shown(
        tools.a_result_is_used,
        [TEXT.patched(*MESSAGE, "content", to="It is 21 degrees in Paris.")],
        {"chat:tools:result": [REFUSED], "chat:tools:used": [TEXT]},
    ),
    **spoiled(tools.a_result_without_a_call_is_refused, [REFUSED], [TEXT]),
    **spoiled(tools.a_chat_tool_without_parameters_is_called, [calling(named("get_news"))], [GOOD]),
    **shown(
        tools.the_chat_model_chooses,
        [GOOD],
        {
            "chat:tools:unforced": [TEXT],
            "chat:tools:chosen": [calling(TIME)],
            "chat:tools:argued": [GOOD.patched(*ARGUMENTS, to='{"city": "Rome"}')],
        },
    ),
}
