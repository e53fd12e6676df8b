"""The questions that measure a model: a table, each with its request, its judge, and its token
limit.

A probe is sent only if it is useful; the results of earlier probes are in `Findings`. No judge
mistakes a failure of the backend for a property of the model: a useless answer leaves the fact
unknown.
"""

import base64
import zlib
from collections.abc import Collection, Sequence
from typing import Any

from antiphon.translation.dialects.profile import EffortForm
from antiphon.translation.to_chat_completions.prompt_tools import described
from antiphon.translation.to_chat_completions.request import effort_parameters
from antiphon.upstream.probing.answers import TOOL, ProbeAnswer
from antiphon.upstream.probing.findings import Body, Facts, Findings, Probe, stated
from antiphon.upstream.probing.schema_probes import SCHEMA_PROBES

MOST_REQUESTS = 48
"""Requests that one probing sends, including repeated ones."""

MOST_TOKENS = 8_000
"""Tokens of all answers of one probing together."""

OBEYED, DISOBEYED, CALLED, UNCALLED = "obeyed", "disobeyed", "called", "uncalled"
"""Notes about what the model did although nothing forced it."""


# The answer itself: does it arrive, does it think, are its tokens counted.

PRIME = [stated("Is 7 a prime number? Answer with yes or no.")]


def _probe_plain(found: Findings) -> Body:
    return {"messages": PRIME}


def _judge_plain(answer: ProbeAnswer, found: Findings) -> Facts:
    if not answer.is_good:
        return {}
    style = answer.thinking
    return {"usage": answer.prompt_tokens > 0} | ({"thinking": style} if style else {})


def _probe_streamed(found: Findings) -> Body:
    options = (
        {"stream_options": {"include_usage": True}}
        if "stream_options" in found.dialect.accepts
        else {}
    )
    return {"messages": PRIME, "stream": True, **options}


def _judge_streamed(answer: ProbeAnswer, found: Findings) -> Facts:
    return {"streamed_usage": answer.prompt_tokens > 0} if answer.is_good else {}


CONTROLS: Sequence[EffortForm] = (
    "chat_template_kwargs",
    "reasoning_effort",
    "enable_thinking",
    "thinking",
)
"""Forms of the effort parameter that may disable thinking, besides that of the dialect."""


def _control(place: int) -> Probe:
    """Return the question whether a form of the effort disables thinking; the dialect's own is the
    first.
    """

    def form_for(found: Findings) -> EffortForm:
        own = found.dialect.effort
        forms = [own, *(form for form in CONTROLS if form != own)] if own else list(CONTROLS)
        return forms[place] if place < len(forms) else ""

    def request(found: Findings) -> Body | None:
        thinks = found.facts.get("thinking") in {"field", "tags", "preopened"}
        form = form_for(found)
        if not thinks or found.quiet or not form:
            return None
        return {"messages": PRIME, **effort_parameters(form, "none")}

    def judge(answer: ProbeAnswer, found: Findings) -> Facts:
        form = form_for(found)
        if answer.is_good and answer.thinking == "none" and answer.stated:
            found.quiet = effort_parameters(form, "none")
            return {"thinking_control": form}
        is_last = place == LAST_CONTROL
        return {"thinking_control": ""} if is_last and (answer.is_good or answer.is_refusal) else {}

    return Probe(f"thinking-off-{place + 1}", 384, request, judge)


LAST_CONTROL = len(CONTROLS) - 1
"""The dialect's own form is one of those, or replaces the last."""

# Roles.

WORD = "PINEAPPLE"
ORDER = f"Whatever the user writes, answer with the single word {WORD}."


def _role(role: str, fact: str) -> Probe:
    def request(found: Findings) -> Body:
        return {"messages": [stated(ORDER, role), stated("What is your word?")]}

    def judge(answer: ProbeAnswer, found: Findings) -> Facts:
        if answer.is_refusal:
            return {fact: False}
        if not answer.is_good:
            return {}
        found.notes.add(OBEYED if WORD in answer.stated.upper() else DISOBEYED)
        if WORD in answer.stated.upper():
            return {fact: True}
        # A template drops a role that it does not know; a weak model ignores both roles.
        return {fact: False} if fact == "developer_role" and found.facts.get("system_role") else {}

    return Probe(f"role-{role}", 128, request, judge)


def _probe_late_system(found: Findings) -> Body | None:
    if found.facts.get("system_role") is False:
        return None
    talk = [
        stated("Hello."),
        stated("Hello! How can I help?", "assistant"),
        stated(ORDER, "system"),
        stated("Your word?"),
    ]
    return {"messages": talk}


def _judge_late_system(answer: ProbeAnswer, found: Findings) -> Facts:
    if answer.is_refusal:
        return {"late_system": False}
    return {"late_system": True} if answer.is_good and WORD in answer.stated.upper() else {}


# Tools.

WEATHER = {
    "type": "function",
    "function": {
        "name": TOOL,
        "description": "Get the current weather in a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
PARIS = [stated(f"What is the weather in Paris right now? Use the tool {TOOL} to find out.")]
BOTH = [
    stated(
        f"What is the weather in Paris and in Rome? Call the tool {TOOL} once for each city, both "
        "at once."
    )
]


def _is_call(call: tuple[str, Any]) -> bool:
    name, arguments = call
    return name == TOOL and isinstance(arguments, dict)


def _probe_call(found: Findings) -> Body | None:
    return None if found.facts.get("tools") == "prompt" else {"messages": PARIS, "tools": [WEATHER]}


def _judge_call(answer: ProbeAnswer, found: Findings) -> Facts:
    if answer.is_refusal:
        return {"tools": "prompt"}
    if not answer.is_good:
        return {}
    if any(map(_is_call, answer.calls)):
        found.notes.add(CALLED)
        return {"tools": "native", "text_calls": ()}
    if form := answer.text_call:
        found.notes.add(CALLED)
        return {"tools": "native", "text_calls": (form,)}
    found.notes.add(UNCALLED)
    if not answer.is_cut:
        found.notes.add("no-call")
    return {}


def _probe_forced(found: Findings) -> Body | None:
    if found.facts.get("tools") == "prompt" or found.facts.get("text_calls"):
        return None
    return {
        "messages": [stated("Hello! My city is Paris.")],
        "tools": [WEATHER],
        "tool_choice": "required",
    }


def _judge_forced(answer: ProbeAnswer, found: Findings) -> Facts:
    if answer.is_good and any(map(_is_call, answer.calls)):
        return {"forced_calls": True, "tools": "native"}
    if answer.is_refusal or (answer.is_good and not answer.is_cut):
        never = answer.is_good and "no-call" in found.notes and not answer.text_call
        return {"forced_calls": False} | ({"tools": "prompt"} if never else {})
    return {}


def _probe_described(found: Findings) -> Body | None:
    """Describe the tool in the prompt, as it is described to a model without native tools."""
    if found.facts.get("tools") != "prompt":
        return None
    tools = described([WEATHER["function"]])
    if found.facts.get("system_role") is False:
        return {"messages": [stated(f"{tools}\n\n{PARIS[0]['content']}")]}
    return {"messages": [stated(tools, "system"), *PARIS]}


def _judge_described(answer: ProbeAnswer, found: Findings) -> Facts:
    if answer.is_good:
        found.notes.add(CALLED if answer.text_call else UNCALLED)
    return {}


def _probe_parallel(found: Findings) -> Body | None:
    return {"messages": BOTH, "tools": [WEATHER]} if found.calls_tools else None


def _judge_parallel(answer: ProbeAnswer, found: Findings) -> Facts:
    count = sum(map(_is_call, answer.calls)) if answer.is_good else 0
    return {"parallel_calls": count > 1} if count else {}


def _probe_streamed_call(found: Findings) -> Body | None:
    return {"messages": PARIS, "tools": [WEATHER], "stream": True} if found.calls_tools else None


def _judge_streamed_call(answer: ProbeAnswer, found: Findings) -> Facts:
    if answer.is_good and any(map(_is_call, answer.calls)):
        return {"streamed_calls": True}
    is_text = answer.is_good and bool(answer.text_call)
    return {"streamed_calls": False, "text_calls": (answer.text_call,)} if is_text else {}


# Images.


def red_square() -> str:
    """Return a red picture of 64 by 64 pixels as a data URL."""
    side = 64

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return len(data).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")

    head = side.to_bytes(4, "big") * 2 + bytes([8, 2, 0, 0, 0])
    rows = (b"\x00" + b"\xff\x00\x00" * side) * side
    parts = (chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b""))
    return (
        "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(parts)).decode()
    )


def _probe_vision(found: Findings) -> Body | None:
    if "vision" in found.facts:
        return None
    parts = [
        {"type": "text", "text": "Which colour is this picture? Answer with one word."},
        {"type": "image_url", "image_url": {"url": red_square()}},
    ]
    return {"messages": [{"role": "user", "content": parts}]}


def _judge_vision(answer: ProbeAnswer, found: Findings) -> Facts:
    if answer.is_refusal:
        return {"vision": False}
    return (
        {"vision": "red" in answer.stated.lower()} if answer.is_good and not answer.is_cut else {}
    )


PROBES: Sequence[Probe] = (
    Probe("plain", 1024, _probe_plain, _judge_plain),
    *map(_control, range(len(CONTROLS))),
    Probe("streamed", 128, _probe_streamed, _judge_streamed),
    _role("system", "system_role"),
    _role("developer", "developer_role"),
    Probe("late-system", 128, _probe_late_system, _judge_late_system),
    Probe("call", 512, _probe_call, _judge_call),
    Probe("forced-call", 512, _probe_forced, _judge_forced),
    Probe("described-call", 512, _probe_described, _judge_described),
    Probe("parallel-calls", 512, _probe_parallel, _judge_parallel),
    Probe("streamed-call", 512, _probe_streamed_call, _judge_streamed_call),
    *SCHEMA_PROBES,
    Probe("vision", 256, _probe_vision, _judge_vision),
)
"""All questions, in their order. The first is the condition of the others: the backend answers."""


def weaknesses(notes: Collection[str]) -> Facts:
    """Return what the model did not do although a prompt required it; no fact if one of both could
    not be judged.
    """
    judged = (("instructions", OBEYED, DISOBEYED), ("calls", CALLED, UNCALLED))
    found = tuple(name for name, done, missed in judged if missed in notes and done not in notes)
    is_whole = all(done in notes or missed in notes for _, done, missed in judged)
    return {"weaknesses": found} if found or is_whole else {}
