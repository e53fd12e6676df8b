"""Calls and outputs pair off."""

import pytest

from antiphon.errors import ClientError
from antiphon.protocol.items.messages import FunctionCall, FunctionCallOutput, Message
from antiphon.protocol.validation.call_rules import check_calls


def call(call_id: str) -> FunctionCall:
    return FunctionCall(call_id=call_id, name="f", arguments="{}")


def output(call_id: str) -> FunctionCallOutput:
    return FunctionCallOutput(call_id=call_id, output="")


STATEMENTS = Message(role="user", content="hi")

SOUND = {
    "nothing": [],
    "no calls": [STATEMENTS, STATEMENTS],
    "one pair": [STATEMENTS, call("a"), output("a")],
    "parallel calls answered in another order": [call("a"), call("b"), output("b"), output("a")],
    "a message in between": [call("a"), STATEMENTS, output("a"), STATEMENTS],
}


@pytest.mark.parametrize("items", SOUND.values(), ids=SOUND)
def test_calls_with_their_outputs_are_sound(items: list[object]) -> None:
    check_calls(items)


NO_CALL = "No tool call found for function call output with call_id b."
WRONG = {
    "75 output without a call": ([call("a"), output("b")], None, NO_CALL),
    "75 output before its call": ([output("b"), call("b")], None, NO_CALL),
    "76 call without an output": (
        [call("a"), STATEMENTS],
        None,
        "No tool output found for function call a.",
    ),
    "76 call at the very end": (
        [STATEMENTS, call("a")],
        None,
        "No tool output found for function call a.",
    ),
    "76 the first of several": (
        [call("z"), call("a"), call("b"), output("a")],
        None,
        "No tool output found for function call z.",
    ),
    "79 two outputs": (
        [call("a"), output("a"), output("a")],
        "invalid_value",
        "Duplicate function call output found with call_id a.",
    ),
    "79 two calls": (
        [call("a"), call("a"), output("a")],
        "invalid_value",
        "Duplicate function call found with call_id a.",
    ),
}


@pytest.mark.parametrize(("items", "code", "message"), WRONG.values(), ids=WRONG)
def test_what_does_not_pair_off_is_refused(
    items: list[object], code: str | None, message: str
) -> None:
    with pytest.raises(ClientError) as caught:
        check_calls(items)
    error = caught.value
    assert (error.status, error.code, error.param, error.message) == (400, code, "input", message)
