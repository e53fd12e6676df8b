"""The answers of `demo`, which docs/guides/test-without-a-model.md documents."""

import json
import re
from itertools import takewhile

from antiphon.protocol.validation import refusals
from antiphon.upstream.demo.checks import Fields
from antiphon.upstream.demo.code import code_for, reported
from antiphon.upstream.demo.images import image_for
from antiphon.upstream.demo.sample import sample_json
from antiphon.upstream.demo.searches import quoted, search_for

CALL = re.compile(r"^call ([\w.-]+)(?: +(\{.*\}))?[ \r]*$", re.MULTILINE)
ANSWER = re.compile(r"^answer ([\[{].*)", re.MULTILINE | re.DOTALL)
REFUSE = "[refuse]"
"""Keywords that the user's newest message can contain."""

THOUGHTS = "The user needs an answer, and a script has nothing to think about."

LONGEST = 2000
"""Characters of an answer that quotes the user or a tool."""

SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
WORDS = re.compile(r"\w+(?:'m\b)?")
TURNED = {"i": "you", "i'm": "you're", "me": "you", "my": "your", "mine": "yours", "am": "are"}
COMMON = re.compile(
    r"\w|an|and|are|at|can|did|do|does|for|have|how|in|is|it|know|of|on|t(?:ell|he|his|o)|was|wh\w+|you|your"
)
"""Words that do not distinguish questions, besides those of `TURNED`."""


def answer_to(request: Fields) -> Fields:
    """Return the assistant's message; a tool call is a name and its arguments, as JSON.

    Raises `ClientError` for a `tool_choice` that is not among the tools, and for a schema without a
    sample.
    """
    messages = request["messages"]
    form = request.get("response_format") or {"type": "text"}
    stated = [text_of(message) for message in messages if message["role"] == "user"] or [""]
    outputs = [
        text_of(one) for one in takewhile(lambda one: one["role"] == "tool", reversed(messages))
    ][::-1]
    reasons = request.get("reasoning_effort") not in (None, "none", "minimal")
    message = {"reasoning_content": THOUGHTS} if reasons else {}
    if REFUSE in stated[-1]:
        return {**message, "refusal": "I am sorry, but I refuse, as requested."}
    if calls := _calls(request, stated[-1], has_outputs=bool(outputs)):
        return {**message, "tool_calls": calls}
    if written := ANSWER.search(stated[-1]):
        return {**message, "content": written[1].strip()}
    if form["type"] == "json_schema":
        return {
            **message,
            "content": sample_json(form["json_schema"].get("schema", {}), "response_format"),
        }
    tool_stated = f"The tool returned: {' and '.join(outputs)}" if outputs else ""
    text = (
        quoted(outputs)
        or reported(outputs)
        or tool_stated
        or _recalled(stated)
        or _echo(request, stated[-1])
    )[:LONGEST]
    return {
        **message,
        "content": json.dumps({"answer": text}) if form["type"] == "json_object" else text,
    }


def text_of(message: Fields) -> str:
    """Return the text of a message; a part of another kind is replaced by its name, such as
    `[image_url]`.
    """
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return " ".join(part.get("text") or f"[{part['type']}]" for part in content)


def _calls(request: Fields, text: str, *, has_outputs: bool) -> list[tuple[str, str]]:
    """Return the calls that lines of the text request.

    Without such a line, Python in the text is run, a picture is drawn, files are searched for a
    question, and a required call gets a sample.
    """
    functions, mode = _callable(request)
    if mode == "none" or (has_outputs and mode == "auto"):
        return []
    requested = [
        (one, written) for name, written in CALL.findall(text) for one in _named(name, functions)
    ]
    requested = (
        requested
        or code_for(text, functions)
        or image_for(text, functions)
        or search_for(text, functions)
    )
    if mode == "required":
        requested = requested or [(name, "") for name in functions][:1]
    most = 1 if request.get("parallel_tool_calls") is False else len(requested)
    return [
        (name, written or sample_json(functions[name], "tools"))
        for name, written in requested[:most]
    ]


def _callable(request: Fields) -> tuple[Fields, str]:
    """Return name -> schema of the functions that can be called, and the mode: `none`, `auto` or
    `required`.
    """
    tools = [tool["function"] for tool in request.get("tools") or ()]
    functions = {
        tool["name"]: {"type": "object", **(tool.get("parameters") or {})} for tool in tools
    }
    match request.get("tool_choice"):
        case {"allowed_tools": {"tools": [*chosen], **rest}}:
            mode = str(rest.get("mode", "auto"))
        case dict() as choice:
            chosen = [choice]
            mode = "required"
        case word:
            return functions, word or "auto"
    allowed = [
        name for name in functions if {"type": "function", "function": {"name": name}} in chosen
    ]
    if len(allowed) < len(chosen):
        raise refusals.invalid("tool_choice", "it names a function that is not among the tools.")
    return {name: functions[name] for name in allowed}, mode


def _named(name: str, functions: Fields) -> list[str]:
    """Return the function of this name, else the first one with the name after a namespace or a
    server's label.
    """
    ends = re.compile(rf"(__|[-./]){re.escape(name)}$")
    return [name] if name in functions else [one for one in functions if ends.search(one)][:1]


def _recalled(texts: list[str]) -> str:
    """Return the user's sentence that shares most words with a question about the user, in the
    second person.
    """
    sentences = [SENTENCES.split(text.strip()) for text in texts]
    requested = next((_words(one) for one in reversed(sentences[-1]) if one.endswith("?")), set())
    wanted = {word for word in requested - TURNED.keys() if not COMMON.fullmatch(word)}
    if requested.isdisjoint(TURNED) or not wanted:
        return ""
    reported = (
        one for text in reversed(sentences) for one in reversed(text) if not one.endswith("?")
    )
    best = max(reported, key=lambda one: len(wanted & _words(one)), default="")
    if 2 * len(wanted & _words(best)) <= len(wanted):
        return ""
    turned = WORDS.sub(lambda match: TURNED.get(match[0].lower(), match[0]), best)
    return turned[:1].upper() + turned[1:]


def _words(text: str) -> set[str]:
    return set(WORDS.findall(text.lower()))


def _echo(request: Fields, text: str) -> str:
    count = len(request["messages"])
    tools = ", ".join(tool["function"]["name"] for tool in request.get("tools") or ())
    received = f"{count} message{'s' * (count > 1)}" + (f" and the tools {tools}" if tools else "")
    return (
        f"I am demo, Antiphon's scripted model. I received {received}. You said: "
        f"{text or 'nothing'}"
    )
