"""The families of what backends refuse, with the words of public reports."""

from collections.abc import Mapping
from typing import Any

from tests.integration.server.families.family import (
    ABSENT,
    NINE,
    PARIS,
    PING,
    SHORT,
    STATED,
    WEATHER,
    Family,
    Values,
    calls,
    has,
    refusing,
    states,
    the_object,
)
from tests.support.refusing import (
    SEPARATOR,
    Refusal,
    Request,
    forces_a_thinker,
    has_later_system,
    has_odd_arguments,
    has_odd_schema,
    ids_in,
    lacks_signature,
    lacks_signed_id,
)

CREATE = {
    "type": "object",
    "properties": {"mode": {"const": "create"}, "name": {}},
    "required": ["mode", "name"],
}
DELETE = {
    "type": "object",
    "properties": {"mode": {"const": "delete"}, "id": {}},
    "required": ["mode", "id"],
}


def tool(parameters: Any) -> Request:
    return {"type": "function", "name": "update", "parameters": parameters}


def history(arguments: str = "{}", call_id: str = "call_abcdefgh1234") -> list[Request]:
    """A conversation in which a call was made elsewhere."""
    return [
        {"role": "user", "content": "Hi"},
        {"type": "function_call", "call_id": call_id, "name": "ping", "arguments": arguments},
        {"type": "function_call_output", "call_id": call_id, "output": "ok"},
        {"role": "user", "content": "Go on."},
    ]


FORMAT = {
    "format": {
        "type": "json_schema",
        "name": "o",
        "schema": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    }
}
RULES = [{"role": "developer", "content": "Rules."}, {"role": "user", "content": "Hi"}]
LATER = [
    {"role": "user", "content": "a"},
    {"role": "system", "content": "Now."},
    {"role": "user", "content": "b"},
]


FIRST = "System message must be at the beginning."
INVALID = "invalid params, invalid function arguments json string, tool_call_id: call_1 (2013)"
ROOT = 'tools.function.parameters.type is required and must be "object"'
UNSIGNED = "Function call is missing a thought_signature in functionCall parts."
SIGNED_ID = f"call_28474be1{SEPARATOR}" + "Cq" * 200
PLACEHOLDER = "skip_thought_signature_validator"
FIRST_ARGUMENTS = "messages.1.tool_calls.0.function.arguments"
FIRST_SIGNATURE = "messages.1.tool_calls.0.extra_content.google.thought_signature"
SYSTEM = {"instructions": "Be kind.", "input": RULES}
ONE = {"messages.0": {"role": "system", "content": "Be kind.\n\nRules."}, "messages.1.role": "user"}
MARKED = {"messages.0.content": "a", "messages.1.role": "user", "messages.1.content": has("Now.")}


def schema(
    value: Any, expected: Values, at: Mapping[str, str], guards: tuple[str, ...] = ()
) -> Family:
    """A tool whose schema the backend refuses, beside one that it takes."""
    return Family(
        at,
        {"tools": [WEATHER, tool(value)]},
        refusing(has_odd_schema, ROOT),
        sent={
            "tools.0.function.parameters.properties.city.enum": ["Paris", "Rome"],
            "tools.1.function.parameters.type": "object",
            **{f"tools.1.function.parameters.{path}": value for path, value in expected.items()},
        },
        answer={**STATED, "tools.1.parameters": value},
        guards=guards,
    )


def broken(arguments: str, at: Mapping[str, str], guards: tuple[str, ...] = ()) -> Family:
    """A call of the past whose arguments are no JSON object."""
    return Family(
        at,
        {"input": history(arguments), "tools": [PING]},
        refusing(has_odd_arguments, INVALID),
        sent={FIRST_ARGUMENTS: the_object({"arguments": arguments})},
        stored={"1.arguments": arguments},
        guards=guards,
    )


def forced(choice: Any, at: Mapping[str, str], guards: tuple[str, ...] = ()) -> Family:
    """A call that the client forces, of a model that thinks."""
    auto = {"tool_choice": "auto", "messages.0.role": "system", "messages.0.content": has("call")}
    return Family(
        at,
        {"tools": [WEATHER], "tool_choice": choice},
        lambda dialect: Refusal(
            forces_a_thinker(dialect), "Thinking mode does not support this tool_choice"
        ),
        calls("get_weather", PARIS),
        sent_at={
            **{name: {"thinking.type": "disabled"} for name in ("moonshot", "deepseek", "zai")},
            "alibaba": {"enable_thinking": False},
            "vllm": {"chat_template_kwargs.enable_thinking": False},
            "openrouter": {"reasoning.effort": "none"},
            "generic": auto,
            "gemini": auto,
        },
        answer={"status": "completed", "output.-1.name": "get_weather", "tool_choice": choice},
        guards=guards,
    )


REFUSED: dict[str, Family] = {
    "1 several system messages": Family(
        {
            "generic": "alone unstored chain replay conversation failover",
            "openrouter": "chain failover",
            "alibaba": "replay",
            "groq": "conversation",
            "deepseek": "alone chain",
            "lmstudio": "unstored",
            "moonshot": "chain",
            "ollama": "replay",
            "mistral": "alone",
        },
        SYSTEM,
        refusing(has_later_system, FIRST),
        sent=ONE,
        guards=("lmstudio-unstored",),
    ),
    "1 a template's error": Family(
        {"generic": "alone chain", "llamacpp": "replay", "vllm": "conversation"},
        SYSTEM,
        refusing(has_later_system, f"Jinja Exception: {FIRST}", 500),
        sent=ONE,
        guards=("llamacpp-replay", "vllm-conversation"),
    ),
    "1 MiniMax's error": Family(
        {"generic": "alone", "openrouter": "conversation"},
        SYSTEM,
        refusing(has_later_system, "invalid params, invalid chat setting (2013)"),
        sent=ONE,
    ),
    "1 a later system message": Family(
        {
            "generic": "alone chain conversation",
            "moonshot": "replay",
            "vllm": "failover",
            "anthropic": "unstored",
        },
        {"input": LATER},
        refusing(has_later_system, FIRST),
        sent=MARKED,
        stored={"1.role": "system"},
        guards=("vllm-failover",),
    ),
    "1 OpenAI takes several": Family(
        {"openai": "alone chain", "azure": "replay"},
        SYSTEM,
        sent={"messages.0.content": "Be kind.", "messages.1.content": "Rules."},
        guards=("openai", "azure"),
    ),
    "2 arguments that break off": broken(
        '{"cmd": "ls -la /tm',
        {
            "generic": "alone chain replay conversation unstored failover",
            "vllm": "chain",
            "moonshot": "replay",
            "deepseek": "conversation",
            "groq": "alone",
            "mistral": "chain",
            "anthropic": "failover",
            "openai": "alone",
        },
    ),
    "2 arguments in prose": broken(
        "ls -la", {"generic": "chain", "moonshot": "alone", "gemini": "replay"}
    ),
    "2 a list as arguments": broken("[1]", {"generic": "alone", "openrouter": "conversation"}),
    "2b arguments that the model breaks off": Family(
        {
            "moonshot": "alone chain replay conversation",
            "openrouter": "chain",
            "anthropic": "unstored",
        },
        {"tools": [PING]},
        refusing(has_odd_arguments, INVALID),
        calls("ping", '{"cmd": "ls -la /tm'),
        later={FIRST_ARGUMENTS: the_object({"arguments": '{"cmd": "ls -la /tm'})},
        guards=("moonshot-alone",),
        answer={"status": "completed", "output.0.arguments": '{"cmd": "ls -la /tm'},
    ),
    "3 a choice at the root": schema(
        {"oneOf": [CREATE, DELETE]},
        {"properties.mode.enum": ["create", "delete"], "required": ["mode"], "oneOf": ABSENT},
        {
            "generic": "alone chain replay conversation unstored failover",
            "deepseek": "chain",
            "moonshot": "replay",
            "lmstudio": "alone",
            "anthropic": "conversation",
            "groq": "failover",
        },
    ),
    "3 another choice at the root": schema(
        {"type": "object", "anyOf": [CREATE, DELETE]},
        {"properties.mode.enum": ["create", "delete"], "anyOf": ABSENT},
        {"generic": "alone", "deepseek": "replay"},
    ),
    "3 parts at the root": schema(
        {"allOf": [CREATE]},
        {"properties.mode.const": "create", "required": ["mode", "name"], "allOf": ABSENT},
        {"generic": "chain", "moonshot": "alone"},
    ),
    "3 no type at the root": schema(
        {"properties": {"a": {"type": "string"}}},
        {"properties.a.type": "string"},
        {"deepseek": "alone", "generic": "replay"},
    ),
    "3b no parameters": schema(
        None,
        {"properties": {}},
        {"lmstudio": "alone chain", "generic": "replay"},
        guards=("lmstudio", "generic"),
    ),
    "3b an empty schema": schema(
        {}, {"properties": {}}, {"lmstudio": "alone", "moonshot": "conversation"}
    ),
    "3b no properties": schema(
        {"type": "object"},
        {"properties": {}},
        {"lmstudio": "alone failover", "generic": "chain", "vllm": "unstored"},
    ),
    "4 any call is forced": forced(
        "required",
        {
            "moonshot": "alone chain conversation",
            "alibaba": "alone replay",
            "deepseek": "chain",
            "zai": "failover",
            "vllm": "unstored",
            "openrouter": "alone",
            "generic": "alone chain",
        },
    ),
    "4 one call is forced": forced(
        {"type": "function", "name": "get_weather"},
        {"moonshot": "replay", "alibaba": "chain", "deepseek": "alone", "gemini": "alone"},
    ),
    "5 a signature in the id": Family(
        {"anthropic": "chain replay bare conversation unstored", "generic": "chain bare failover"},
        {"tools": [PING]},
        refusing(lacks_signed_id, UNSIGNED),
        calls("ping", "{}", SIGNED_ID),
        later={"messages.1.tool_calls.0.id": SIGNED_ID, "messages.2.tool_call_id": SIGNED_ID},
        answer={"status": "completed", "output.-1.call_id": SHORT},
    ),
    "5 a signature beside the call": Family(
        {"generic": "chain conversation", "anthropic": "replay"},
        {"tools": [PING]},
        plays=calls("ping", "{}", provider_specific_fields={"thought_signature": "S"}),
        later={"messages.1.tool_calls.0.provider_specific_fields": {"thought_signature": "S"}},
        answer={"status": "completed", "output.-1.call_id": "call_1"},
    ),
    "5 Gemini's own signature": Family(
        {"gemini": "chain replay conversation"},
        {"tools": [PING]},
        refusing(lacks_signature, UNSIGNED),
        calls("ping", "{}", extra_content={"google": {"thought_signature": "S"}}),
        later={FIRST_SIGNATURE: "S"},
        guards=("gemini",),
        answer={"status": "completed", "output.-1.call_id": "call_1"},
    ),
    "5b a call made elsewhere": Family(
        {
            "gemini": "alone chain conversation failover",
            "generic": "alone replay",
            "openrouter": "unstored",
        },
        {"input": history(), "tools": [PING]},
        refusing(lacks_signature, UNSIGNED),
        sent={FIRST_SIGNATURE: PLACEHOLDER},
    ),
    "7 a format beside tools": Family(
        {
            "groq": "alone chain",
            "cerebras": "alone conversation",
            "gemini": "alone",
            "generic": "alone failover",
        },
        {"tools": [WEATHER], "text": FORMAT},
        refusing(
            lambda sent: "tools" in sent and "response_format" in sent,
            "json mode cannot be combined with tool/function calling",
        ),
        states('{"a": 1}'),
        sent={
            "response_format": ABSENT,
            "messages.0.content": has('"integer"'),
            "tools.0.type": "function",
        },
        answer={"status": "completed", "output.-1.content.0.text": '{"a": 1}'},
    ),
    "8 only streams": Family(
        {"alibaba": "alone chain", "generic": "alone failover", "fireworks": "conversation"},
        refuses=refusing(
            lambda sent: not sent.get("stream"),
            "This model only support stream mode, please enable the stream parameter "
            "to access the model. ",
        ),
        sent={"stream": True},
        guards=("streamed",),
    ),
    "14 one of two": Family(
        {"anthropic": "alone chain", "generic": "alone conversation", "openrouter": "failover"},
        {"temperature": 0.1, "top_p": 0.9},
        refusing(
            lambda sent: "temperature" in sent and "top_p" in sent,
            "`temperature` and `top_p` cannot both be specified for this model. "
            "Please use only one.",
        ),
        sent={"temperature": 0.1, "top_p": ABSENT},
        answer={**STATED, "temperature": 0.1, "top_p": None},
    ),
    "14 only one value": Family(
        {"moonshot": "alone chain", "vllm": "replay", "generic": "failover"},
        {"temperature": 0.2},
        refusing(
            lambda sent: sent.get("temperature", 1) != 1,
            "invalid temperature: only 1 is allowed for this model",
        ),
        sent={"temperature": ABSENT},
        answer={**STATED, "temperature": None},
    ),
    "14 one of two, with status 200": Family(
        {"generic": "alone chain"},
        {"temperature": 0.1, "top_p": 0.9},
        refusing(
            lambda sent: "temperature" in sent and "top_p" in sent,
            "temperature and top_p cannot both be set.",
            200,
        ),
        sent={"temperature": 0.1, "top_p": ABSENT},
        answer={**STATED, "temperature": 0.1, "top_p": None},
    ),
    "14 a value, in unknown words and with status 200": Family(
        {"vllm": "alone", "generic": "failover"},
        {"temperature": 0.2},
        refusing(lambda sent: "temperature" in sent, "The frobnicator declined this.", 200),
        sent={"temperature": ABSENT},
        answer={**STATED, "temperature": None},
    ),
    "16 an effort between": Family(
        {"moonshot": "alone chain", "generic": "alone failover"},
        {"reasoning": {"effort": "medium"}},
        refusing(
            lambda sent: sent.get("reasoning_effort", "max") not in ("low", "high", "max"),
            "invalid reasoning_effort: (allowed: low, high, max)",
        ),
        sent={"reasoning_effort": "low"},
        answer={**STATED, "reasoning.effort": "low"},
    ),
    "17 ids of nine": Family(
        {"vllm": "alone chain conversation", "generic": "alone failover", "lmstudio": "replay"},
        {"input": history(), "tools": [PING]},
        refusing(
            lambda sent: not all(each == NINE for each in ids_in(sent)),
            "Tool call id was call_abcdefgh1234 but must be a-z, A-Z, 0-9, with a length of 9.",
            500,
        ),
        sent={"messages.1.tool_calls.0.id": NINE, "messages.2.tool_call_id": NINE},
        stored={"1.call_id": "call_abcdefgh1234"},
    ),
    "17 Mistral's ids": Family(
        {"mistral": "alone chain"},
        {"input": history(), "tools": [PING]},
        sent={"messages.1.tool_calls.0.id": NINE},
        guards=("mistral",),
    ),
}
