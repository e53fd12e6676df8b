"""Calls between special tokens of a model: a name, a mark, and the arguments as JSON."""

import re

from antiphon.translation.from_chat.text_calls.found import (
    NoCallError,
    Offers,
    Parse,
    RawCall,
    UnfinishedError,
)
from antiphon.translation.from_chat.text_calls.json_calls import calls_in, read_values
from antiphon.translation.from_chat.text_calls.values import decode_at


def headed(header: str, end: str, section_end: str = "") -> Parse:
    """Return the parser of calls that each have a header with the `name`, JSON, and an end, in a
    section or not.

    The model can omit the last closing marks of an answer: servers stop at them.
    """
    head = re.compile(header)
    tail = re.compile(end)
    last = re.compile(section_end)

    def parse(text: str, offers: Offers) -> tuple[list[RawCall], int]:
        calls: list[RawCall] = []
        at = 0
        while begun := head.match(text, at):
            arguments, at = decode_at(text, begun.end())
            calls.append(RawCall(begun["name"], arguments))
            ended = tail.match(text, at)
            if ended is None:
                break
            at = ended.end()
        closed = last.match(text, at)
        return calls, closed.end() if closed else at

    return parse


deepseek = headed(
    r"(?:<｜tool▁calls▁begin｜>)?\s*<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>(?=[^\n]*\n))?"
    r"\s*(?P<name>[^\s<>]+)\s*(?:<｜tool▁sep｜>)?\s*(?:```json\s*)?",
    r"\s*(?:```\s*)?<｜tool▁call▁end｜>",
    r"\s*<｜tool▁calls▁end｜>",
)
"""V3 and R1 write `function`, then the name, then a code block; V3.1 writes the name, then plain
JSON.
"""

kimi = headed(
    r"(?:<\|tool_calls?_section_begin\|>)?\s*<\|tool_call_begin\|>\s*(?P<name>[^\s<>:]+)(?::\d+)?\s*"
    r"<\|tool_call_argument_begin\|>\s*",
    r"\s*<\|tool_call_end\|>",
    r"\s*<\|tool_calls?_section_end\|>",
)

harmony = headed(
    r"(?:<\|start\|>assistant)?(?:<\|channel\|>(?:commentary|analysis))? "
    r"to=functions\.(?P<name>[^\s<>]+)"
    r"(?:<\|channel\|>(?:commentary|analysis))?(?:\s*(?:<\|constrain\|>\s*)?json)?\s*<\|message\|>\s*",
    r"\s*<\|call\|>\s*",
)
"""The recipient follows the channel or precedes it."""

_MISTRAL = re.compile(
    r"\s*(?:\[TOOL_CALLS\]\s*)?(?P<name>[\w.-]+)(?:\[CALL_ID\][\w-]*)?\s*(?:\[ARGS\]\s*)?(?=\{)",
    re.ASCII,
)


def mistral(text: str, offers: Offers) -> tuple[list[RawCall], int]:
    """Parse what follows `[TOOL_CALLS]`: a list of JSON calls, or names with their arguments, each
    after a mark.
    """
    mark = "[TOOL_CALLS]"
    begin = len(mark) + len(text[len(mark) :]) - len(text[len(mark) :].lstrip())
    if text.startswith(("[", "{"), begin):
        values, end = read_values(text, begin)
        return [call for value in values for call in calls_in(value)], end
    calls: list[RawCall] = []
    at = 0
    while text.startswith(mark, behind := len(text) - len(text[at:].lstrip())):
        begun = _MISTRAL.match(text, behind)
        if begun is None:
            break
        arguments, at = decode_at(text, begun.end())
        calls.append(RawCall(begun["name"], arguments))
    if not calls:
        raise NoCallError("No call follows the mark.")
    return calls, at


# Gemma 4 and FunctionGemma write objects with bare keys, and strings between a token of their own.

_GEMMA = re.compile(r"(?:<\|tool_call>|<start_function_call>)\s*call:(?P<name>[^\s{]+)\s*(?=\{)")
_GEMMA_END = re.compile(r"\s*(?:<tool_call\|>|<end_function_call>)")
_QUOTES = ('<|"|>', "<escape>")
_KEY = re.compile(r'\s*"?([^\s:,{}"<]+)"?\s*:')
_SCALAR = re.compile(r"\s*(true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?=\s*[,}\]])")
_MAX_LEVELS = 100


def gemma(text: str, offers: Offers) -> tuple[list[RawCall], int]:
    """Parse `<|tool_call>call:NAME{key:<|"|>text<|"|>,count:3}<tool_call|>`."""
    begun = _GEMMA.match(text)
    if begun is None:
        raise NoCallError("No call follows the mark.")
    arguments, at = _gemma_value(text, begun.end(), _MAX_LEVELS)
    ended = _GEMMA_END.match(text, at)
    return [RawCall(begun["name"], arguments)], ended.end() if ended else at


def _gemma_value(text: str, at: int, levels: int) -> tuple[object, int]:
    at = _skip(text, at)
    if not levels or at >= len(text):
        raise UnfinishedError("The value does not end.")
    for quote in _QUOTES:
        if text.startswith(quote, at):
            end = text.find(quote, at + len(quote))
            if end < 0:
                raise UnfinishedError("The string does not end.")
            return text[at + len(quote) : end], end + len(quote)
    if text[at] == '"':
        return decode_at(text, at)
    if text[at] in "{[":
        return _gemma_members(text, at, levels)
    scalar = _SCALAR.match(text, at)
    if scalar is None:
        raise NoCallError("It is not a value.")
    return decode_at(scalar[1], 0)[0], scalar.end()


def _gemma_members(text: str, at: int, levels: int) -> tuple[object, int]:
    """Read an object or an array."""
    closing = "}" if text[at] == "{" else "]"
    named: dict[str, object] = {}
    listed: list[object] = []
    at = _skip(text, at + 1)
    while not text.startswith(closing, at):
        if closing == "}":
            key = _KEY.match(text, at)
            if key is None:
                raise NoCallError("A key is missing.")
            named[key[1]], at = _gemma_value(text, key.end(), levels - 1)
        else:
            value, at = _gemma_value(text, at, levels - 1)
            listed.append(value)
        at = _skip(text, at)
        if text.startswith(",", at):
            at = _skip(text, at + 1)
        elif not text.startswith(closing, at):
            raise NoCallError("A comma is missing.")
    return (named if closing == "}" else listed), at + 1


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at
