"""Calls with tags around names and values. If the values have no types of their own, the schema
supplies them.
"""

import re

from antiphon.translation.from_chat.text_calls.found import (
    NoCallError,
    Offers,
    RawCall,
    UnfinishedError,
)
from antiphon.translation.from_chat.text_calls.values import decode_at, typed_arguments

_FUNCTION = re.compile(
    r"(?:<(?:seed:)?tool_call>)?\s*<function=([^<>\s]+)>(.*)</function>", re.DOTALL
)
# A value ends where the next parameter or the call's end follows:
# it can contain `</parameter>` itself.
_PARAMETER = re.compile(
    r"\s*<parameter=([^<>\s]+)>(.*?)</parameter>(?=\s*(?:<parameter=|$))", re.DOTALL
)


def functions(text: str, offers: Offers) -> tuple[list[RawCall], int]:
    """Parse Qwen-coder's `<function=NAME><parameter=P>…</parameter></function>`, or Llama's, with a
    JSON object.
    """
    function = _FUNCTION.match(text)
    if function is None:
        raise NoCallError("The function does not end.")
    if function[2].lstrip().startswith("{"):
        return [RawCall(function[1], _json(function[2]))], function.end()
    pairs = [(name, _unframed(value)) for name, value in _all(_PARAMETER, function[2])]
    return [RawCall(function[1], _typed(function[1], pairs, offers))], function.end()


_BAR = r"(?:[｜‖|]{1,2}DSML[｜‖|]{1,2})?"
_SECTION = re.compile(
    rf"(?:<{_BAR}(?:function_calls|tool_calls|minimax:tool_call)>)?"
    rf"((?:\s*<{_BAR}invoke name=\"[^\"]*\">.*</{_BAR}invoke>))"
    rf"(?:\s*</{_BAR}(?:function_calls|tool_calls|minimax:tool_call)>)?",
    re.DOTALL,
)
_INVOKE = re.compile(
    rf"\s*<{_BAR}invoke name=\"([^\"]*)\">(.*?)</{_BAR}invoke>(?=\s*(?:<{_BAR}invoke |$))",
    re.DOTALL,
)
_NAMED = re.compile(
    rf"\s*<{_BAR}parameter name=\"([^\"]*)\"(?: string=\"(true|false)\")?>(.*?)</{_BAR}parameter>"
    rf"(?=\s*(?:<{_BAR}parameter |$))",
    re.DOTALL,
)


def invokes(text: str, offers: Offers) -> tuple[list[RawCall], int]:
    """Parse `<invoke name="NAME"><parameter name="P">…</parameter></invoke>`, in a section or not.

    DeepSeek marks each tag with `｜DSML｜`, and states for each parameter whether it is a string.
    """
    section = _SECTION.match(text)
    if section is None:
        raise UnfinishedError("The call does not end.")
    calls = []
    for name, body in _all(_INVOKE, section[1]):
        found = _all(_NAMED, body)
        arguments = _typed(name, [(key, _unframed(value)) for key, _, value in found], offers)
        for key, is_string, value in found:
            if is_string:
                arguments[key] = value if is_string == "true" else _json(value)
        calls.append(RawCall(name, arguments))
    return calls, section.end()


_GLM = re.compile(r"<tool_call>\s*([^<>\s]+)\s*(.*)</tool_call>", re.DOTALL)
_PAIR = re.compile(
    r"\s*<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>(?=\s*(?:<arg_key>|$))", re.DOTALL
)


def pairs(text: str, offers: Offers) -> tuple[list[RawCall], int]:
    """Parse GLM's `<tool_call>NAME<arg_key>K</arg_key><arg_value>V</arg_value></tool_call>`."""
    call = _GLM.match(text) if "</tool_call>" in text else None
    if call is None:
        raise NoCallError("The call does not end.")
    found = [(key.strip(), value) for key, value in _all(_PAIR, call[2])]
    return [RawCall(call[1], _typed(call[1], found, offers))], call.end()


def _all(element: re.Pattern[str], body: str) -> list[tuple[str, ...]]:
    """Return the groups of every element in `body`, which contains nothing else."""
    found: list[tuple[str, ...]] = []
    at = 0
    while match := element.match(body, at):
        found.append(match.groups(default=""))
        at = match.end()
    if body[at:].strip():
        raise UnfinishedError("An element does not end.")
    return found


def _typed(name: str, pairs: list[tuple[str, str]], offers: Offers) -> dict[str, object]:
    return typed_arguments(pairs, offers[name].parameters if name in offers else {})


def _unframed(value: str) -> str:
    """Return a value without the line breaks that templates put around it."""
    return (
        value[1:-1]
        if len(value) > 1 and value[0] == value[-1] == "\n"
        else value.removeprefix("\n")
    )


def _json(value: str) -> object:
    decoded, end = decode_at(value.strip(), 0)
    if end != len(value.strip()):
        raise NoCallError("The value is not JSON.")
    return decoded
