"""Texts in which a regular expression is found, made from the expression and never by running it."""

import re
import string
import warnings
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

LONGEST = 10_000
"""Characters of a text; a pattern that asks for more gets none."""

WORD = string.ascii_letters + string.digits + "_"
PRINTABLE = WORD + " " + string.punctuation
CLASSES = {
    "CATEGORY_DIGIT": string.digits,
    "CATEGORY_WORD": WORD,
    "CATEGORY_SPACE": " \t\n\r",
    "CATEGORY_NOT_DIGIT": "".join(sign for sign in PRINTABLE if not sign.isdigit()),
    "CATEGORY_NOT_WORD": "".join(sign for sign in PRINTABLE if sign not in WORD),
    "CATEGORY_NOT_SPACE": PRINTABLE.replace(" ", ""),
}
_ELSEWHERE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_BRACE = re.compile(r"\{(?!\d+(?:,\d*)?\}|,\d*\})")


def texts(pattern: str, vary: int = 0) -> Iterator[str]:
    """Give ever longer texts in which the pattern is found, without running it: some expressions never end.

    Another `vary` chooses other characters. Raises `ValueError` for a pattern that is not understood, or whose texts
    are too long. Understood: literals, `.`, classes, groups, alternatives, quantifiers, anchors.
    """
    if _BRACE.search(_ELSEWHERE.sub("", pattern)):
        raise ValueError("a brace that quantifies nothing")
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = import_module("re._parser").parse(re.sub(r"\(\?<(?![=!])", "(?P<", pattern))
    except (re.error, OverflowError) as error:
        raise ValueError(str(error)) from error
    if tree.state.flags != re.UNICODE:
        raise ValueError("it sets a flag")
    for more in (0, 1, 2, *(2**power for power in range(2, 12))):
        yield _text(tree, more, vary)


def _text(nodes: Iterable[tuple[Any, Any]], more: int, vary: int) -> str:
    """Return a text of a sequence, with so many `more` than the fewest repetitions."""
    return _short("".join(_piece(str(kind), value, more, vary) for kind, value in nodes))


def _piece(kind: str, value: Any, more: int, vary: int) -> str:
    match kind:
        case "AT" if str(value) in {"AT_BEGINNING", "AT_END"}:
            return ""
        case "LITERAL":
            return chr(value)
        case "ANY":
            return WORD[vary % len(WORD)]
        case "IN" | "NOT_LITERAL":
            signs = _class(value) if kind == "IN" else _opposite(chr(value))
            return signs[vary % len(signs)]
        case "BRANCH":
            return _text(value[1][vary % len(value[1])], more, vary)
        case "SUBPATTERN" if not value[1] and not value[2]:
            return _text(value[3], more, vary)
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            least, most, inner = value
            return _repeated(_text(inner, more, vary), min(least + more, int(most)))
    raise ValueError(f"{kind} is not understood")


def _class(members: list[tuple[Any, Any]]) -> str:
    """Return the characters of a class."""
    signs = ""
    for kind, value in members:
        match str(kind):
            case "LITERAL":
                signs += chr(value)
            case "RANGE":
                signs += "".join(map(chr, range(value[0], min(value[1], value[0] + 99) + 1)))
            case "CATEGORY":
                signs += CLASSES[str(value)]
    return _opposite(signs) if str(members[0][0]) == "NEGATE" else signs


def _opposite(signs: str) -> str:
    found = "".join(sign for sign in PRINTABLE if sign not in signs)
    if not found:
        raise ValueError("an empty class")
    return found


def _repeated(text: str, times: int) -> str:
    if len(text) * times > LONGEST:
        raise ValueError("too long")
    return text * times


def _short(text: str) -> str:
    if len(text) > LONGEST:
        raise ValueError("too long")
    return text
