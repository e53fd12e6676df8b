"""What backends say when they refuse a request, and what each refusal teaches: a table with a row
for each difference.

A row is recognised by the words of a backend, and returns a lesson: the name of what is sent
differently from then on (`Dialect.taught`), None if the request has nothing to change. To teach
Antiphon another difference, add a row here, with its evidence, and what the lesson changes in
`dialect.TAUGHT`. A row reads what the backend says itself: a message can quote the request, so it
names the parameter together with the complaint.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct

from antiphon.translation.dialects.dialect import EFFORT_LESSON, EFFORTS, effort_in

Body = Mapping[str, Any]

REJECTED = frozenset({400, 422})
FAILED = REJECTED | {500}
"""Servers report what a chat template raises as a 500."""

LONGEST = 10_000
"""Characters of a message that are read."""

MAX_QUOTED, MOST_IN_ALL = 2_000, 4_000
"""Characters of a text, and of all texts of a refusal, in which differences are looked for: a
hostile backend must not hold the event loop.
"""


class Difference(Struct, frozen=True, kw_only=True, dict=True):
    """One way in which backends differ, and how it is recognised."""

    name: str
    """How documents and clients name it."""
    words: tuple[str, ...]
    """What backends say; a named group is passed on to `teaches`."""
    teaches: Callable[[re.Match[str], Body], str | None]
    """Returns the lesson for the request that was refused; None if it has nothing of this kind."""
    statuses: frozenset[int] = REJECTED
    reads_quotes: bool = False
    """Whether words in quotes count: templates and validators are quoted; elsewhere a quotation is
    of the request.
    """
    refuses: str
    """What backends refuse, in words for the documentation."""
    sends: str
    """What they are sent from then on."""
    evidence: str

    @cached_property
    def _patterns(self) -> list[re.Pattern[str]]:
        """The words compiled, at the first refusal: it takes a hundredth of a server's start."""
        return [re.compile(each, re.IGNORECASE | re.DOTALL) for each in self.words]

    def lesson(self, status: int, text: str, sent: Body) -> str | None:
        """Return what this refusal of `sent` teaches; None if it is about something else."""
        if status not in self.statuses:
            return None
        if not (self.reads_quotes or _INNER.search(text)):
            text = unquoted(text)
        found = (pattern.search(text) for pattern in self._patterns)
        lessons = (self.teaches(match, sent) for match in found if match)
        return next((lesson for lesson in lessons if lesson), None)


def unquoted(text: str) -> str:
    """Return what a backend says without quotations of three words and more, which can be of the
    request.
    """
    return _QUOTED.sub("", text)


def recognised(status: int, lines: Iterable[str], sent: Body) -> str | None:
    """Return the lesson of the first row that knows what a backend said about the request `sent`;
    None without one.
    """
    texts: list[str] = []
    left = MOST_IN_ALL
    for text in lines:
        texts.append(text[: min(left, MAX_QUOTED)])
        left -= len(texts[-1]) + 1
        if left <= 0:
            break
    texts = [text for text in texts if not _ELSEWHERE.search(text)]
    lessons = (row.lesson(status, text, sent) for row in DIFFERENCES for text in texts)
    return next((lesson for lesson in lessons if lesson), None)


_ELSEWHERE = re.compile(
    r"invalid schema|in context=|\bpropert(?:y|ies)\b|\btools?[\[.]\d|\bnot found\b|context "
    r"(?:length|window)",
    re.IGNORECASE,
)
"""Words of refusals that are about a schema, a name or the length: they can contain any other
word.
"""

_QUOTED = re.compile(r"([\"'`])(?:(?!\1)[^ \n])+ (?:(?!\1)[^ \n])+ (?:(?!\1)[^\n]){1,300}\1")
"""Three words and more in quotes."""

_INNER = re.compile(r"[\"']message\\?[\"']\s*:")
"""A gateway that quotes the error of the server behind it."""

_RANGE = re.compile(
    r"\bbetween\b|\brange\b|(?:less|greater|larger|smaller) than|at "
    r"(?:most|least)|m(?:ax|in)imum|\bnumbers?\b"
    r"|\bup to\b|negative|[<>]=|[<>] \d",
    re.IGNORECASE,
)
"""Words about a value outside of its range, which the client must correct."""


_OF_TOOL = re.compile(
    r"\b(?:names?|arguments?|descriptions?|keywords?|parameters? "
    r"of|(?:function|its|their|input)(?:'s)? parameters?)\b"
    r"|\$(?:ref|defs)\b|\b(?:one|any|all)Of\b"
    r"|\b(?:have|has|having|contain|contains|containing|define|declare|accept) (?:an? |the |any "
    r")?json schema",
    re.IGNORECASE,
)
"""Words about the definition of a tool."""


def _both(found: re.Match[str], sent: Body) -> str | None:
    has_both = sent.get("temperature") is not None and sent.get("top_p") is not None
    return "sampling.both" if has_both and not _RANGE.search(found.string) else None


def _format(found: re.Match[str], sent: Body) -> str | None:
    """Return the lesson for a format together with tools; a JSON schema alone can also be that of a
    tool.
    """
    is_of_tool = _OF_TOOL.search(found.group()) and not _OF_ANSWER.search(found.string)
    return (
        "tools.format"
        if sent.get("tools") and sent.get("response_format") and not is_of_tool
        else None
    )


def _stream(found: re.Match[str], sent: Body) -> str | None:
    return None if sent.get("stream") or "stream_options" in found.string else "stream.always"


def _efforts(found: re.Match[str], sent: Body) -> str | None:
    """Return the efforts that are listed, if the one that was sent is not among them."""
    listed = set(re.findall(r"[a-z]+", found.group("listed").lower()))
    accepted = [effort for effort in EFFORTS if effort in listed]
    current = effort_in(sent)
    return (
        EFFORT_LESSON + ",".join(accepted)
        if accepted and current and current not in accepted
        else None
    )


def _named(found: re.Match[str], sent: Body) -> str | None:
    name = found.group("name").lower()
    return name if name in sent and not _RANGE.search(found.string) else None


def _forced(found: re.Match[str], sent: Body) -> str | None:
    is_forced = sent.get("tool_choice") not in (None, "auto", "none")
    return "tools.forced" if is_forced and _COMPLAINT.search(found.string) else None


def _call_ids(_: re.Match[str], sent: Body) -> str | None:
    messages = sent.get("messages", ())
    return (
        "calls.ids"
        if any("tool_calls" in message or "tool_call_id" in message for message in messages)
        else None
    )


def _without_tools(_: re.Match[str], sent: Body) -> str | None:
    has_calls = any(
        "tool_calls" in message or "tool_call_id" in message for message in sent.get("messages", ())
    )
    return "calls.tools" if has_calls and not sent.get("tools") else None


def _signatures(_: re.Match[str], sent: Body) -> str | None:
    return (
        "calls.signatures"
        if any("tool_calls" in message for message in sent.get("messages", ()))
        else None
    )


_TOOLS = (
    r"[`'\"]?(?:tools?|functions?"
    r"|(?:tool|function)[/ -](?:(?:and|or)[/ -]?)?(?:function )?(?:use|call(?:s|ing)?))[`'\"]?"
)
_FORMAT_OF_ANSWER = (
    r"[`'\"]?response[_ ]?format[`'\"]?|response mime ?type|json (?:mode|format|output)"
    r"|structured outputs?|guided decoding"
)
_FORMAT = rf"(?:{_FORMAT_OF_ANSWER}|json schema)"
_OF_ANSWER = re.compile(_FORMAT_OF_ANSWER, re.IGNORECASE)
_CLASH = (
    r"(?:cannot|can't|can not|could not|must not|may not|incompatible|mutually "
    r"exclusive|unsupported"
    r"|not (?:be )?(?:supported|allowed|compatible|combined|used))"
)
_EFFORT_LIST = (
    rf"(?:[\s'\"`,:;(\[{{|/]{{0,12}}(?:(?:and|or)\b[\s'\"`]{{0,"
    rf"4}})?\b(?:{'|'.join(EFFORTS)})\b[\s'\"`\])]{{0,4}})+"
)
_COMPLAINT = re.compile(
    _CLASH + r"|not support|unavailable|must be|\bonly\b|disable", re.IGNORECASE
)
_SAMPLING = r"[`'\"]?(?P<name>temperature|top_p|presence_penalty|frequency_penalty)[`'\"]?"

DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        name="stream.always",
        words=(
            r"only supports? (?:the )?stream",  # DashScope
            r"(?:must be set to false|not (?:supported|allowed|permitted)|unsupported) "
            r"(?:for|in|with) non-?stream",
            r"non-?stream(?:ing)? (?:\w+ ){0,3}(?:is|are) (?:not|un)",
            # Fireworks
            r"must (?:have|set|use|be) [`'\"]?stream(?:ing)?\b[`'\"]?(?:\s*[=:]\s*true)?",
            r"[`'\"]?stream[`'\"]? (?:parameter )?must be (?:set to )?[`'\"]?true",
            r"please (?:enable|use|set) (?:the )?[`'\"]?stream",
            r"\bstream: input should be true",  # pydantic
            r"[仅只]支持流式",  # Z.ai, DashScope: only streams are supported
        ),
        teaches=_stream,
        refuses="an answer that is not streamed",
        sends="a request for a stream; it puts the answer together",
        evidence="new-api PR#1109, deer-flow#856, UltraRAG#287, ragflow#5912",
    ),
    Difference(
        name="sampling.both",
        words=(
            r"temperature\b.{0,20}\btop_p\b.{0,40}" + _CLASH,
            r"top_p\b.{0,20}\btemperature\b.{0,40}" + _CLASH,
            r"\btemperature\b[^.]{0,20}" + _CLASH + r"[^.]{0,40}\btop_p\b",
            r"\btop_p\b[^.]{0,20}" + _CLASH + r"[^.]{0,40}\btemperature\b",
            _CLASH + r"[^.]{0,60}\btemperature\b.{0,20}\btop_p\b",
            r"(?:only one of|either|not both)[^.]{0,30}\btemperature\b.{0,20}\btop_p\b",
            r"(?:only one of|either|not both)[^.]{0,30}\btop_p\b.{0,20}\btemperature\b",
        ),
        teaches=_both,
        refuses="`temperature` together with `top_p`",
        sends="only `temperature`",
        evidence="litellm#15070, extended_openai_conversation#428",
    ),
    Difference(
        name="sampling.value",
        words=(
            _SAMPLING
            + r"[^.]{0,60}?\bonly\b.{0,40}?\b(?:allowed|supported|accepted|permitted|valid)\b",
            _SAMPLING
            + r"[^.]{0,40}? must be (?:exactly |set to |equal to )?[\d.]+ (?:for|with|when) ",
            r"only[^.]{0,40} (?:for|as) (?:the )?"
            + _SAMPLING
            + r"[^.]{0,20}(?:allowed|supported|accepted)",
            r"only "
            + _SAMPLING
            + r" ?= ?[\d.]+ (?:is|are) (?:allowed|supported|accepted)",  # LiteLLM
            _SAMPLING + r" (?:may|can|must) only be (?:set to )?\d",  # Anthropic
            _SAMPLING + r" (?:is|are) fixed (?:to|at) ",
            _SAMPLING + r": input should be \d",  # pydantic
        ),
        teaches=_named,
        refuses="other values of a sampling parameter than one or two",
        sends="without the parameter",
        evidence="hermes-agent PR#12566",
    ),
    Difference(
        name="reasoning.effort",
        words=(
            r"(?:effort|reasoning (?:value|level)|thinking level)\b.{0,160}?"
            r"\b(?:allowed|one of|expected|supported|valid|available|accepted|should be|must be)"
            r"(?: values?)?(?: are)?(?: one of)?(?P<listed>" + _EFFORT_LIST + r")",
        ),
        teaches=_efforts,
        reads_quotes=True,
        refuses="an effort that is not among those it lists",
        sends="the nearest that is listed",
        evidence="`models.dev` PR#4721, harness-engineering PR#978",
    ),
    Difference(
        name="calls.ids",
        words=(
            r"tool[ _]call[ _]?id.{0,80}(?:length (?:of )?9\b|\b9 (?:characters|letters)|\bnine\b)",
            r"tool_calls?\b.{0,30}\bid: [^.]{0,60}\{9\}",  # pydantic
        ),
        teaches=_call_ids,
        statuses=FAILED,
        reads_quotes=True,
        refuses="ids of calls that are not nine letters and digits",
        sends="ids of that form, the same for the same call",
        evidence="omlx#1997",
    ),
    Difference(
        name="calls.signatures",
        words=(
            r"(?:missing|without|requires?|must "
            r"(?:carry|have|contain|include))[^.]{0,30}thought[_ ]?signature",
            r"thought[_ ]?signature[`'\"]?[^.]{0,30}(?:required|missing|absent)",
        ),
        teaches=_signatures,
        refuses="calls without the signature of Gemini",
        sends="the signature, or the documented placeholder if it is unknown",
        evidence="NeMo-Gym#2374, langchain#37347, docker-agent PR#2155, octos PR#1897",
    ),
    Difference(
        name="calls.tools",
        words=(
            r"tool call(?:ing|s)? without [`'\"]?tools",  # LiteLLM, for Bedrock and Anthropic
            r"toolConfig field must be defined",  # Bedrock
            r"\btool_(?:use|calls?|result)\b[^.]{0,60} must "
            r"(?:define|have|include|contain|provide) [`'\"]?tools",
        ),
        teaches=_without_tools,
        refuses="earlier calls in a request without `tools`",
        sends="earlier calls and their results as text in a request without tools",
        evidence="sigit#81, opencode#2915",
    ),
    Difference(
        name="tools.format",
        words=(
            _FORMAT + r"[^.]{0,60}?" + _CLASH + r"[^.]{0,40}" + _TOOLS,
            _TOOLS + r"[^.]{0,60}?" + _CLASH + r"[^.]{0,40}" + _FORMAT,
            _TOOLS + r" (?:with|and) (?:a )?" + _FORMAT + r"[^.]{0,60}" + _CLASH,
            _FORMAT + r" (?:with|and) " + _TOOLS + r"[^.]{0,60}" + _CLASH,
            _CLASH + r"[^.]{0,60}?" + _FORMAT + r"[^.]{0,20} (?:with|and) " + _TOOLS,
            _CLASH + r"[^.]{0,60}?" + _TOOLS + r"[^.]{0,20} (?:with|and) (?:a )?" + _FORMAT,
            r"either [^.]{0,20}" + _FORMAT + r" or " + _TOOLS + r"[^.]{0,20}not both",
            r"either [^.]{0,20}" + _TOOLS + r" or " + _FORMAT + r"[^.]{0,20}not both",
        ),
        teaches=_format,
        refuses="tools together with a JSON format",
        sends="the format as an instruction; the answer is checked",
        evidence="vercel/ai PR#16540, openai-agents#656",
    ),
    Difference(
        name="tools.forced",
        words=(
            r"tool_?[ ]?choice[^.]{0,120}\b(?:thinking|reasoning)",
            r"\b(?:thinking|reasoning)[^.]{0,80}\btool_?[ ]?choice",
            r"(?:does not|doesn't|cannot) support "
            r"(?:this|that|forced|named|required)[^.]{0,20}\btool_?[ ]?choice",
        ),
        teaches=_forced,
        refuses="a call that `tool_choice` forces while the model thinks",
        sends="thinking switched off for that request; if that is refused too, `auto` and an "
        "instruction",
        evidence="DeepSeek-V3#1376, litellm PR#37470, codex-router#106, eino#994",
    ),
)
"""Every difference that is recognised by a refusal."""
