"""A scripted backend of refusals: it answers only requests that have nothing of what it refuses.

The words are those of real backends. What a refusal looks at is decided here, not by Antiphon: a
judge of its own.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tests.support.replay import JSON, Answer, ReplayBackend, Script, sse

Request = dict[str, Any]

SEPARATOR = "__thought__"
"""LiteLLM puts it between the id of a call and Gemini's signature."""


class Refusal(NamedTuple):
    """What a backend refuses, and in which words."""

    is_met: Callable[[Request], bool]
    words: str
    status: int = 400


def calls_in(sent: Request) -> list[Request]:
    """The calls of a conversation."""
    return [call for message in sent["messages"] for call in message.get("tool_calls") or ()]


def first_calls(sent: Request) -> list[Request]:
    """The first call of each answer: Gemini signs that one."""
    return [message["tool_calls"][0] for message in sent["messages"] if message.get("tool_calls")]


def schemas_in(sent: Request) -> list[Any]:
    """The schemas of the tools that are offered."""
    return [tool["function"].get("parameters") for tool in sent.get("tools") or ()]


def ids_in(sent: Request) -> list[str]:
    """The ids of calls and of their results."""
    results = [message["tool_call_id"] for message in sent["messages"] if message["role"] == "tool"]
    return [call["id"] for call in calls_in(sent)] + results


def has_later_system(sent: Request) -> bool:
    return any(message["role"] in ("system", "developer") for message in sent["messages"][1:])


def is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def has_odd_arguments(sent: Request) -> bool:
    return not all(is_object(call["function"]["arguments"]) for call in calls_in(sent))


def is_odd(schema: Any) -> bool:
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return True
    return not isinstance(schema.get("properties"), dict) or bool(
        {"oneOf", "anyOf", "allOf"} & schema.keys()
    )


def has_odd_schema(sent: Request) -> bool:
    return any(is_odd(schema) for schema in schemas_in(sent))


def is_forced(sent: Request) -> bool:
    return sent.get("tool_choice") not in (None, "auto", "none")


def lacks_signed_id(sent: Request) -> bool:
    return not all(SEPARATOR in call["id"] for call in first_calls(sent))


def signature(call: Request) -> str | None:
    """The signature of a call, in Gemini's form."""
    found: str | None = ((call.get("extra_content") or {}).get("google") or {}).get(
        "thought_signature"
    )
    return found


def lacks_signature(sent: Request) -> bool:
    return not all(signature(call) for call in first_calls(sent))


def has_unknown_result(sent: Request) -> bool:
    """Whether a result names a call that is not there, as every backend refuses."""
    known = {call["id"] for call in calls_in(sent)}
    return any(
        message["role"] == "tool" and message["tool_call_id"] not in known
        for message in sent["messages"]
    )


SWITCHES: dict[str, Callable[[Request], bool]] = {
    **dict.fromkeys(
        ("deepseek", "moonshot", "zai"),
        lambda sent: (sent.get("thinking") or {}).get("type") == "disabled",
    ),
    "alibaba": lambda sent: sent.get("enable_thinking") is False,
    **dict.fromkeys(
        ("vllm", "sglang", "llamacpp"),
        lambda sent: (sent.get("chat_template_kwargs") or {}).get("enable_thinking") is False,
    ),
    **dict.fromkeys(
        ("openrouter", "vercel"), lambda sent: (sent.get("reasoning") or {}).get("effort") == "none"
    ),
    **dict.fromkeys(("ollama", "lmstudio"), lambda sent: sent.get("reasoning_effort") == "none"),
}
"""By dialect: whether a request switches thinking off in that family's own way. Other families have
no switch.
"""


def forces_a_thinker(dialect: str) -> Callable[[Request], bool]:
    """Whether a request forces a call of a model of this dialect, which thinks unless it is told
    not to.
    """
    is_off = SWITCHES.get(dialect, lambda _: False)
    return lambda sent: is_forced(sent) and not is_off(sent)


def error(words: str, status: int = 400, **more: Any) -> Answer:
    """A refusal as most backends write it."""
    body = {"error": {"message": words, "type": "invalid_request_error", **more}}
    return Answer([json.dumps(body).encode()], JSON, status)


def refusal(sent: Request, what: Refusal) -> Answer:
    """The answer to a request that is refused; with status 200, a stream begins with the error."""
    answer = error(what.words, what.status)
    if what.status == 200 and sent.get("stream"):
        return Answer([sse(json.loads(answer.parts[0]))])
    return answer


class RefusingBackend(ReplayBackend):
    """It refuses what `refusals` say, and answers all else by `plays`; `refused` has one entry for
    each request.

    An entry is the name of the refusal, or an empty text for a request that was answered.
    """

    def __init__(self, refusals: dict[str, Refusal], plays: Script) -> None:
        super().__init__(self._judge)
        self.refusals = refusals
        self.plays = plays
        self.refused: list[str] = []

    def _judge(self, sent: Request) -> Answer:
        met = next((name for name, one in self.refusals.items() if one.is_met(sent)), "")
        self.refused.append(met)
        if met:
            return refusal(sent, self.refusals[met])
        return self.plays(sent)

    def of(self, name: str) -> Sequence[Request]:
        """The requests that were refused by this name."""
        return [
            sent
            for sent, refused in zip(self.requests, self.refused, strict=True)
            if refused == name
        ]
