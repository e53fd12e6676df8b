"""Texts that a regular expression takes, made without ever running one: some expressions never end.

Understood: literals, `.`, classes, `\\d \\w \\s` and their opposites, groups, alternatives, quantifiers, anchors.
"""

import string
from collections.abc import Callable, Iterator

Node = Callable[[int, int], str]
"""A part of an expression. Takes how many more than the fewest repetitions to make, and which alternative to choose."""

LONGEST = 10_000
"""Characters of a text; an expression that asks for more gets none."""

WORD = string.ascii_letters + string.digits + "_"
PRINTABLE = WORD + " " + string.punctuation
CLASSES = {
    "d": string.digits,
    "w": WORD,
    "s": " \t\n\r",
    "D": "".join(sign for sign in PRINTABLE if not sign.isdigit()),
    "W": "".join(sign for sign in PRINTABLE if sign not in WORD),
    "S": PRINTABLE.replace(" ", ""),
}
CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
HEX_DIGITS = {"x": 2, "u": 4}
QUANTIFIERS = {"?": (0, 1), "*": (0, LONGEST), "+": (1, LONGEST)}
GROUP_STARTS = ("?:", "?P<", "?<")


def texts(pattern: str, vary: int = 0) -> Iterator[str]:
    """Give ever longer texts in which the pattern is found; another `vary` chooses other characters.

    Raises `ValueError` for a pattern that is not understood, or whose texts are too long.
    """
    node = _Parser(pattern).parse()
    for more in (0, 1, 2, *(2**power for power in range(2, 12))):
        yield node(more, vary)


class _Parser:
    """Reads an expression from left to right."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def parse(self) -> Node:
        node = self._alternatives()
        if self._at < len(self._pattern):
            raise ValueError("a bracket too many")
        return node

    def _alternatives(self) -> Node:
        options = [self._sequence()]
        while self._skip("|"):
            options.append(self._sequence())
        return lambda more, vary: options[vary % len(options)](more, vary)

    def _sequence(self) -> Node:
        nodes = []
        while self._next() not in {"", "|", ")"}:
            nodes.append(self._quantified(self._atom()))
        return lambda more, vary: _short("".join(node(more, vary) for node in nodes))

    def _atom(self) -> Node:
        sign = self._take()
        match sign:
            case "^" | "$":
                return lambda more, vary: ""
            case ".":
                return _one_of(WORD)
            case "(":
                return self._group()
            case "[":
                return _one_of(self._class())
            case "\\":
                return _one_of(self._escape())
        if sign in "*+?{":
            raise ValueError("nothing to repeat")
        return lambda more, vary: sign

    def _group(self) -> Node:
        start = next((start for start in GROUP_STARTS if self._pattern.startswith(start, self._at)), "")
        self._at += len(start)
        if start.endswith("<"):
            if self._next() in {"=", "!"}:
                raise ValueError("looks behind")
            self._take_until(">")
        elif self._next() == "?":
            raise ValueError("looks ahead, or sets a flag")
        node = self._alternatives()
        if not self._skip(")"):
            raise ValueError("a group without end")
        return node

    def _escape(self) -> str:
        sign = self._take()
        if sign in CLASSES:
            return CLASSES[sign]
        if sign in HEX_DIGITS:
            digits = "".join(self._take() for _ in range(HEX_DIGITS[sign]))
            return chr(int(digits, 16))
        if sign in CONTROLS:
            return CONTROLS[sign]
        if sign.isalnum():
            raise ValueError("an escape with a meaning")
        return sign

    def _class(self) -> str:
        is_opposite = self._skip("^")
        signs = ""
        while not (self._next() == "]" and signs):
            first = self._member()
            if self._next() == "-" and self._pattern[self._at + 1 : self._at + 2] not in {"", "]"}:
                self._take()
                last = self._member()
                first = "".join(map(chr, range(ord(first), min(ord(last), ord(first) + 99) + 1)))
            signs += first
        self._take()
        chosen = "".join(sign for sign in PRINTABLE if sign not in signs) if is_opposite else signs
        if not chosen:
            raise ValueError("an empty class")
        return chosen

    def _member(self) -> str:
        sign = self._take()
        return self._escape() if sign == "\\" else sign

    def _quantified(self, node: Node) -> Node:
        least, most = self._quantifier()
        if (least, most) == (1, 1):
            return node
        if self._next() in {"?", "+"}:
            self._take()  # lazy or possessive: no other texts
        return lambda more, vary: _repeated(node(more, vary), min(least + more, most))

    def _quantifier(self) -> tuple[int, int]:
        if self._next() in QUANTIFIERS:
            return QUANTIFIERS[self._take()]
        if not self._skip("{"):
            return 1, 1
        least, comma, most = self._take_until("}").partition(",")
        return int(least or 0), int(most) if most else LONGEST if comma else int(least)

    def _next(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _take(self) -> str:
        sign = self._next()
        if not sign:
            raise ValueError("it ends too early")
        self._at += 1
        return sign

    def _skip(self, sign: str) -> bool:
        is_here = self._next() == sign
        self._at += is_here
        return is_here

    def _take_until(self, sign: str) -> str:
        end = self._pattern.find(sign, self._at)
        if end < 0:
            raise ValueError(f"'{sign}' is missing")
        taken, self._at = self._pattern[self._at : end], end + 1
        return taken


def _one_of(signs: str) -> Node:
    return lambda more, vary: signs[vary % len(signs)]


def _repeated(text: str, times: int) -> str:
    if len(text) * times > LONGEST:
        raise ValueError("too long")
    return text * times


def _short(text: str) -> str:
    if len(text) > LONGEST:
        raise ValueError("too long")
    return text
