"""The families of what backends write differently."""

import json
from collections.abc import Mapping

from tests.integration.server.families.family import (
    ABSENT,
    PARIS,
    PING,
    STATED,
    WEATHER,
    Family,
    Like,
    Play,
    answered,
    calls,
    framed,
    has,
    hello,
    states,
    uses,
    written,
)
from tests.support.refusing import Request
from tests.support.replay import JSON, Answer, completion, delta, sse, text


def named(name: str, at: Mapping[str, str], guards: tuple[str, ...] = ()) -> Family:
    """A call under a name with more in it."""
    return Family(
        at,
        {"tools": [WEATHER]},
        plays=calls(name, PARIS),
        answer={
            "status": "completed",
            "output.-1.name": "get_weather",
            "output.-1.arguments": PARIS,
        },
        guards=guards,
    )


def tagged(content: str, at: Mapping[str, str], guards: tuple[str, ...] = ()) -> Family:
    """Reasoning inside the text."""
    return Family(
        at,
        plays=states(content),
        answer={
            "status": "completed",
            "output.0.type": "reasoning",
            "output.0.content.0.text": has("I should greet."),
            "output.1.content.0.text": has("Hello"),
        },
        guards=guards,
    )


def cause(
    code: str,
    words: str,
    answers: Play,
    at: Mapping[str, str],
    status: int,
    guards: tuple[str, ...] = (),
) -> Family:
    """An error in another form."""
    return Family(
        at,
        plays=answers,
        answer={"error.code": code, "error.message": has(words)},
        status=status,
        guards=guards,
    )


FAILED_CALL = {
    "error": {
        "message": "Failed to call a function. See 'failed_generation' for more details.",
        "type": "invalid_request_error",
        "code": "tool_use_failed",
        "failed_generation": '<function=ping>{"path": "sample.txt"}</function>',
    }
}
CACHED = {
    "prompt_tokens": 368,
    "completion_tokens": 19,
    "total_tokens": 10923,
    "prompt_tokens_details": {"cached_tokens": 10536},
}
USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
IN_A_CHOICE = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": USAGE}]}


def thinks_in_tags(sent: Request) -> Answer:
    """MiniMax: its thoughts are in its text."""
    if sent["messages"][-1]["role"] == "tool":
        return hello(sent)
    call = {"id": "call_1", "type": "function", "function": {"name": "ping", "arguments": "{}"}}
    return answered(sent, "<think>\nSecret 42.\n</think>\n\n", "tool_calls", tool_calls=[call])


def cut_call(sent: Request) -> Answer:
    """OpenRouter: a call that the limit has cut."""
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "ping", "arguments": '{"cmd": "ls'},
    }
    ended = {"finish_reason": "tool_calls", "native_finish_reason": "max_output_tokens", "index": 0}
    if sent.get("stream"):
        last = {"choices": [{"delta": {}, **ended}], "usage": USAGE}
        return Answer([sse(delta(tool_calls=[{"index": 0, **call}]), last)])
    choice = {"message": {"role": "assistant", "content": None, "tool_calls": [call]}, **ended}
    return Answer([json.dumps({"choices": [choice], "usage": USAGE}).encode()], JSON)


WRITTEN: dict[str, Family] = {
    "6 a channel in the name": named(
        "get_weather<|channel|>commentary",
        {"vllm": "alone chain", "generic": "replay", "groq": "failover"},
    ),
    "6 a recipient in the name": named(
        "functions.get_weather", {"vllm": "alone", "openrouter": "chain"}
    ),
    "6 blanks in the name": named(" get_weather ", {"vllm": "alone", "ollama": "conversation"}),
    "6 another case": named("Get_Weather", {"vllm": "alone", "generic": "unstored"}),
    "9 a stream unless told otherwise": Family(
        {"generic": "alone chain", "vllm": "alone"},
        guards=("streamed",),
        plays=lambda sent: (
            hello(sent)
            if "stream" in sent
            else Answer([completion("Hello") + b"\ndata: [DONE]\n\n"])
        ),
    ),
    "9 events under the label of JSON": Family(
        {"generic": "alone chain", "openrouter": "failover"},
        plays=framed(text("Hello"), completion("Hello"), JSON),
        guards=("plain",),
    ),
    "9 JSON under another label": Family(
        {"generic": "alone", "lmstudio": "chain"},
        plays=framed(completion("Hello"), completion("Hello"), "text/plain; charset=utf-8"),
    ),
    "10 cached tokens outside of the prompt": Family(
        {"anthropic": "alone chain", "generic": "alone"},
        plays=uses(CACHED),
        answer={
            **STATED,
            "usage.input_tokens": 10904,
            "usage.output_tokens": 19,
            "usage.input_tokens_details.cached_tokens": 10536,
        },
    ),
    "10 zeros at the end": Family(
        {"generic": "alone", "vllm": "alone"},
        plays=uses(USAGE, last={"choices": [], "usage": dict.fromkeys(USAGE, 0)}),
        guards=("plain",),
        answer={**STATED, "usage.input_tokens": 10, "usage.output_tokens": 5},
    ),
    "10 usage in a choice": Family(
        {"moonshot": "alone chain"},
        plays=framed(sse(delta(content="Hello"), IN_A_CHOICE), completion("Hello")),
        guards=("plain",),
        answer={
            **STATED,
            "usage.total_tokens": Like(lambda value: value in (15, 6), "of the backend"),
        },
    ),
    "11 reasoning": tagged(
        "<reasoning>I should greet.</reasoning>Hello", {"vllm": "alone chain", "generic": "alone"}
    ),
    "11 thinking": tagged(
        "<thinking>I should greet.</thinking>\n\nHello", {"vllm": "alone", "lmstudio": "alone"}
    ),
    "11 seed": tagged(
        "<seed:think>I should greet.</seed:think>Hello", {"vllm": "alone", "openrouter": "chain"}
    ),
    "11 a channel": tagged(
        "<|channel>thought\nI should greet.<channel|>Hello",
        {"vllm": "alone", "ollama": "conversation"},
    ),
    "11 harmony": tagged(
        "<|channel|>analysis<|message|>I should "
        "greet.<|end|><|start|>assistant<|channel|>final<|message|>Hello",
        {"vllm": "alone", "generic": "unstored"},
    ),
    "11b thoughts go back to MiniMax": Family(
        {"generic": "chain conversation", "vllm": "replay"},
        {"tools": [PING], "include": ["reasoning.encrypted_content"]},
        plays=thinks_in_tags,
        later={"messages.1.content": has("<think>", "Secret 42.")},
        answer={"status": "completed", "output.-1.name": "ping"},
        model="minimax-m2",
    ),
    "15 MiniMax's causes": cause(
        "insufficient_quota",
        "insufficient balance",
        written(
            {
                "id": "x",
                "choices": None,
                "base_resp": {"status_code": 1008, "status_msg": "insufficient balance"},
            },
            200,
        ),
        {"together": "alone"},
        502,
    ),
    "15 a code and a message": cause(
        "insufficient_quota",
        "quota",
        written(
            {"error": {"code": "1113", "message": "Insufficient balance. Please recharge."}}, 429
        ),
        {"zai": "alone"},
        429,
    ),
    "18 a call inside a refusal": Family(
        {"groq": "alone chain"},
        {"tools": [PING]},
        plays=lambda sent: (
            hello(sent) if sent["messages"][-1]["role"] == "tool" else written(FAILED_CALL)(sent)
        ),
        answer={
            "status": "completed",
            "output.-1.name": "ping",
            "output.-1.arguments": has("sample.txt"),
        },
    ),
    "19 blank reasoning": Family(
        {"vllm": "alone", "deepseek": "alone"},
        plays=states("Hello", reasoning_content="\n\n"),
        answer={**STATED, "output.0.type": "message", "output.1": ABSENT},
    ),
    "20 a call that the limit cut": Family(
        {"openrouter": "alone", "generic": "alone"},
        {"tools": [PING]},
        plays=cut_call,
        answer={
            "status": "incomplete",
            "incomplete_details.reason": "max_output_tokens",
            "output.0.arguments": '{"cmd": "ls',
            "usage.output_tokens": 5,
        },
    ),
}
