"""The most tokens that an answer of a model can have: as its backend lists it, or states it when it
refuses a higher limit.

Clients of other APIs name the limit of another model: Claude Code sends 32,000 or 128,000.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

OUTPUT_LESSON = "output.limit:"
"""The prefix of the lesson that a backend accepts no more tokens of output than follow."""

WINDOW_LESSON = "context.window:"
"""The prefix of the lesson that the window of a model has as many tokens as follow."""

LISTED_AS = ("max_output_tokens", "max_completion_tokens", "max_tokens")
"""Fields of a listed model: Mistral and gateways, Groq, Anthropic."""

PROVIDER = "top_provider"
"""The field of OpenRouter with the limits of a model's provider."""

LEAST = 16
"""Tokens below which a number in an error is no limit."""

_ABOUT_OUTPUT = re.compile(
    r"max[_ ]?(?:new|output|completion)?[_ ]?tokens|(?:output|completion) tokens", re.IGNORECASE
)
_UNSUPPORTED = re.compile(
    r"(?:unsupported|unknown|unrecognized|unexpected) (?:request |keyword )?"
    r"(?:parameter|argument|field|name|property|key)|(?:unsupported|unknown)_parameter"
    r"|extra inputs are not|extra_forbidden"
    r"|max\w*tokens[`'\"]? (?:is|are) (?:currently |yet )?"
    r"(?:unsupported|not (?:supported|permitted|allowed))"
    r"(?! (?:to|if|when|above|over|beyond|greater|larger|higher)\b)",
    re.IGNORECASE,
)
"""Words about the parameter itself: a number next to them is about something else."""

_OTHER_NUMBERS = re.compile(
    r"\b\w{1,20}://\S+"  # an address
    r"|\b(?![\w.-]{0,60}(?:tokens|limit|length|size|window|len|max|maximum):)"
    r"[\w.-]{1,60}:\d\S*"  # a port
    r"|\d[\d.,]{0,20}/\S*"  # a path or a date
    r"|\d{1,9}\.\d[\d.]*"  # a version
    r"|[\d.,]{0,20}…[\d.,]*"  # what `own_words` has cut
    r"|\b(?:error|status|https?|code)(?:[ _]?code)?(?:/[\d.]+)?[\s:=(\"']{1,3}"
    r"(?:4[0-5]|5[02])\d(?![\d,])"  # a status
    r"|(?<![\d,])(?:4[0-5]|5[02])\d (?:bad request|unprocessable)",
    re.IGNORECASE,
)
"""Numbers in an error that are no tokens. Its repetitions are bounded: a message can be long."""

_WINDOW = re.compile(
    r"(?:context|model)[_ ](?:window|length|size|limit|len)\D{0,40}?"
    r"(?P<window>\d[\d,]{0,15})(?!\d)",
    re.IGNORECASE,
)
_REQUESTED = re.compile(
    r"(?:requested|requests|requesting)\D{0,20}(?P<all>\d[\d,]{0,15})(?!\d)", re.IGNORECASE
)
_NUMBER = re.compile(
    r"(?<![\w.-])\d{1,3}(?:,\d{3}){1,4}(?![\w-]|,\d)|(?<![\w.,-])\d{1,15}(?![\w-]|,\d)"
)


def listed_limit(listed: Mapping[str, Any]) -> int | None:
    """Return the limit of a model from the entry in its backend's list, None without one."""
    for entry in (listed, listed.get(PROVIDER)):
        if isinstance(entry, Mapping):
            for name in LISTED_AS:
                value = entry.get(name)
                if type(value) is int and value >= LEAST:
                    return value
    return None


def is_unsupported(text: str) -> bool:
    """Whether a refusal, with its codes, is about a parameter that the backend does not support,
    whatever its value.
    """
    return _UNSUPPORTED.search(text) is not None


def stated_limit(text: str, sent: int) -> int | None:
    """Return the limit that a refusal of `sent` tokens of output states, None if it is about
    something else.

    It is the highest number below `sent`: the others are that one, and the least.
    """
    if _ABOUT_OUTPUT.search(text) is None or is_unsupported(text):
        return None
    text = _OTHER_NUMBERS.sub("; ", text)
    numbers = (int(one.replace(",", "")) for one in _NUMBER.findall(text))
    return max((one for one in numbers if LEAST <= one < sent), default=None)


def stated_window(text: str, sent: int, prompt: int) -> int | None:
    """Return the window of a model that a refusal states, if a prompt fits it and only the `sent`
    tokens of output do not; None otherwise. `prompt` is its estimated size, if the refusal does not
    state the sum.
    """
    text = _OTHER_NUMBERS.sub("; ", text)
    found = _WINDOW.search(text)
    if found is None:
        return None
    window = int(found["window"].replace(",", ""))
    total = _REQUESTED.search(text)
    if total is not None:
        prompt = int(total["all"].replace(",", "")) - sent
    return window if 0 <= prompt < window - LEAST < prompt + sent else None


def learned_limit(lessons: Collection[str], prefix: str = OUTPUT_LESSON) -> int | None:
    """Return the lowest limit that refusals taught, None without one."""
    found = (one.removeprefix(prefix) for one in lessons if one.startswith(prefix))
    return min(map(int, found), default=None)
