"""The signature of a call goes back to its backend although its response was not stored."""

import json
from typing import Any

import msgspec
import pytest

from antiphon.access.keyring import Keyring
from antiphon.protocol.items.content import LONGEST_SEALED, MAX_CALL_ID, SEALED_CALL
from antiphon.protocol.items.messages import FunctionCall
from antiphon.protocol.validation.validate import decode_request
from antiphon.translation import Translator
from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.signed_calls import SIGNED_CALL, sealed_id, signature_of
from antiphon.translation.to_responses.request import to_responses
from tests.support.replay import delta, sse
from tests.support.translate import translate

LONG = "call_28474be1__thought__" + "Cq/+" * 100
FORMS: dict[str, dict[str, Any]] = {
    "in the id": {"id": LONG},
    "beside the call": {"id": "call_1", "provider_specific_fields": {"thought_signature": "S"}},
    "as Gemini has it": {"id": "call_1", "extra_content": {"google": {"thought_signature": "S"}}},
}
PARAMETERS = {"type": "object", "properties": {}}
PING = {"type": "function", "name": "ping", "parameters": PARAMETERS}
HI = {"role": "user", "content": "Hi"}
REQUEST = {"model": "m", "input": [HI], "tools": [PING], "store": False}
KEYRING = Keyring()


def called(
    own: dict[str, Any], is_json: bool, dialect: str = "anthropic", **requested: Any
) -> dict[str, Any]:
    """The call that a client receives, if the backend makes one with a signature."""
    call = {"index": 0, "type": "function", "function": {"name": "ping", "arguments": "{}"}, **own}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    whole = json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]}).encode()
    translator = Translator(
        {**REQUEST, **requested}, dialect=dialect, is_json=is_json, keyring=KEYRING
    )
    translator.feed(whole if is_json else sse(delta(tool_calls=[call]), delta("tool_calls")))
    response: dict[str, Any] = msgspec.to_builtins(translator.finish()[-1])["response"]
    return dict(response["output"][-1])


def replayed(
    call: dict[str, Any], dialect: str = "anthropic", keyring: Keyring = KEYRING
) -> tuple[Any, Any]:
    """The call and its output as the backend receives them, from a client that sends nothing else
    back.
    """
    kind = call["type"]
    alone = {name: call[name] for name in call if name not in ("id", "status")}
    output = {"type": f"{kind}_output", "call_id": call["call_id"], "output": "ok"}
    body = {**REQUEST, "input": [HI, alone, output]}
    messages = Translator(body, dialect=dialect, keyring=keyring).chat_request["messages"]
    return messages[1]["tool_calls"][0], messages[2]


@pytest.mark.parametrize("is_json", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_the_call_alone_brings_its_signature_back(form: str, is_json: bool) -> None:
    own = FORMS[form]
    call = called(own, is_json)
    sent, output = replayed(call)
    assert {name: sent[name] for name in own if name != "id"} == {
        name: own[name] for name in own if name != "id"
    }
    assert sent["id"] == output["tool_call_id"] and len(sent["id"]) <= max(
        MAX_CALL_ID, len(own["id"])
    )
    if own["id"] == LONG:
        assert sent["id"] == LONG
    assert call["call_id"].replace("-", "").replace("_", "").isalnum(), (
        "some APIs accept no other characters"
    )


def test_a_custom_call_brings_its_signature_back() -> None:
    call = called(FORMS["in the id"], False, tools=[{"type": "custom", "name": "ping"}])
    assert call["type"] == "custom_tool_call"
    assert replayed(call)[0]["id"] == LONG


@pytest.mark.parametrize(
    "requested",
    [
        {"include": ["reasoning.encrypted_content"]},
        {
            "tools": [{"type": "local_shell"}]
        },  # its output names the call by an `id` of 512 characters
    ],
    ids=["with its reasoning", "local shell"],
)
def test_the_id_is_short_if_the_signature_travels_otherwise(
    requested: dict[str, Any],
) -> None:  # a guard
    name = "local_shell" if "tools" in requested else "ping"
    own = {**FORMS["in the id"], "function": {"name": name, "arguments": '{"command": ["ls"]}'}}
    assert len(called(own, False, **requested)["call_id"]) <= MAX_CALL_ID


@pytest.mark.parametrize("name", ["LocalShell", "functions.local_shell", "local_"])
def test_the_id_of_a_local_shell_is_short_however_its_name_is_written(name: str) -> None:
    first = {"index": 0, "id": LONG, "function": {"name": name}}
    rest = {
        "index": 0,
        "function": {
            "name": "shell" if name == "local_" else "",
            "arguments": '{"command": ["ls"]}',
        },
    }
    translator = Translator(
        REQUEST | {"tools": [{"type": "local_shell"}]}, dialect="anthropic", keyring=KEYRING
    )
    translator.feed(sse(delta(tool_calls=[first]), delta(tool_calls=[rest]), delta("tool_calls")))
    call = msgspec.to_builtins(translator.finish()[-1])["response"]["output"][-1]
    assert call["type"] == "local_shell_call" and len(call["call_id"]) <= MAX_CALL_ID


def test_the_id_is_short_if_the_response_is_stored() -> None:  # a guard
    call = {
        "index": 0,
        "type": "function",
        "function": {"name": "ping", "arguments": "{}"},
        "id": LONG,
    }
    translation = translate(sse(delta(tool_calls=[call]), delta("tool_calls")))
    assert translation.output[-1]["call_id"].startswith(SIGNED_CALL + "_")


def test_an_id_without_a_signature_stays() -> None:  # a guard
    assert called({"id": "call_1"}, False)["call_id"] == "call_1"


@pytest.mark.parametrize(
    "there", [("openai", KEYRING), ("anthropic", Keyring())], ids=["family", "server"]
)
def test_another_family_and_another_server_receive_a_short_id(there: tuple[str, Keyring]) -> None:
    sent, output = replayed(called(FORMS["in the id"], False), *there)
    assert sent["id"] == output["tool_call_id"] and len(sent["id"]) <= 40, (
        "OpenAI accepts 40 characters"
    )
    assert sent.keys() == {"id", "type", "function"}


def test_a_backend_that_speaks_responses_receives_a_short_id() -> None:
    call = called(FORMS["in the id"], False)
    output = {"type": "function_call_output", "call_id": call["call_id"], "output": "ok"}
    request = decode_request(msgspec.json.encode({"model": "m", "input": [HI, call, output]}))
    sent = to_responses(request, request.input, DIALECTS["openai"])["input"]  # type: ignore[arg-type]
    assert sent[1]["call_id"] == sent[2]["call_id"] and len(sent[1]["call_id"]) <= MAX_CALL_ID


def test_no_other_tenant_can_read_the_signature() -> None:
    blob = signature_of(msgspec.convert(called(FORMS["in the id"], False), FunctionCall))
    assert blob and KEYRING.unseal(blob, "") and KEYRING.unseal(blob, "other") is None


def test_an_id_that_a_client_shortened_contains_no_signature() -> None:
    call = FunctionCall(
        call_id=called(FORMS["in the id"], False)["call_id"][:MAX_CALL_ID],
        name="ping",
        arguments="{}",
    )
    assert signature_of(call) is None  # not one that cannot be opened, which `strict_seals` refuses


def test_a_signature_that_is_too_long_is_not_in_the_id() -> None:
    assert sealed_id("") == sealed_id("x" * (LONGEST_SEALED + 1)) == ""
    own = {"id": "call_1", "extra_content": {"google": {"thought_signature": "S" * LONGEST_SEALED}}}
    assert called(own, False)["call_id"] == "call_1"


@pytest.mark.parametrize("garbage", ["x", "ar1", "ar1-0-0", "ar1-00000000-" + "A" * 900, "-" * 100])
def test_an_id_invented_by_a_client_is_treated_like_any_other(garbage: str) -> None:
    sent, output = replayed(
        {
            "type": "function_call",
            "name": "ping",
            "arguments": "{}",
            "call_id": SEALED_CALL + garbage,
        }
    )
    assert sent["id"] == output["tool_call_id"] and len(sent["id"]) <= max(
        MAX_CALL_ID, len(garbage)
    )
