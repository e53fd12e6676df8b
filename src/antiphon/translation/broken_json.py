"""Repairs a JSON object that a model broke, if its meaning is certain.

The json_repair library reads anything that resembles JSON, and guesses if necessary. So its result
counts only if nothing was lost, moved or added elsewhere than at the end: `_has_one_reading` and
`_is_certain` have the rules. If more than one repair is possible, the text stays broken: the model
corrects it, or the client receives what the model wrote.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from antiphon.packages import load_optional
from antiphon.protocol.json_members import decode_value

REPAIRER = "json_repair"
"""The module that repairs. It takes 70 ms to load, so a server loads it outside the event loop when
it is needed.
"""

LONGEST = 8_000
"""Longest text in characters that is repaired, on the event loop: the library needed up to 160 ms
for 32,000.
"""

_FENCE = re.compile(r"\A\s*```[a-zA-Z]{0,10}\s*\n|\n?\s*```\s*\Z")
_STRUCTURE = re.compile(r"""[\s"'`\\,:;{}\[\]]+""")
_ESCAPE = re.compile(r'\\(u[0-9a-fA-F]{4}|["\\/bfnrt])')
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_ESCAPED_TOKEN = re.compile(r'[{\[,:]\s*\\"')
"""A quote with a backslash where JSON has a quote: the text was escaped once too often."""

_ESCAPED_THROUGHOUT = re.compile(
    r"""(?:[^"\\]|\\"(?:[^"\\]|\\\\(?:\\"|.))*\\"|"[^"\\]*")*""", re.DOTALL
)
"""A text in which each string has no escape, or one too many, its quotes included."""

_LITERALS = {"True": "true", "False": "false", "None": "null"}
_LITERAL = re.compile(r"\b(?:True|False|None)\b")
_BETWEEN = re.compile(r"[\s,;:{}\[\]\w.+-]*")
"""What can be between two strings: structure, numbers and literals."""

_ATOM = re.compile(r"""("|')((?:(?!\1)[^\\]|\\.)*)\1|[^\s"',;:{}\[\]]+""", re.DOTALL)
"""A string, or a number, a literal or an unquoted name."""
_SEPARATOR = re.compile(r"[,;:{}\[\]]")
_VALUE = re.compile(r"-?[\d.][\w.+-]*|true|false|null|True|False|None")
_BRACKET = re.compile(r"[{}\[\]]")
_ESCAPED_QUOTE = re.compile(r"""\\["']""")
_STRUCTURAL_QUOTE = re.compile(r"""["']\s*[,:}\]]|[,:{\[]\s*["']""")
"""A quote that can also begin or end a string."""
_PLAIN_NAME = re.compile(r"[\w$. -]+")
_COLON = re.compile(r"\s*:")

_TOKEN = re.compile(r'("[^"\\]*(?:\\.[^"\\]*)*"?)|\s+', re.DOTALL)


def repaired(text: str) -> dict[str, Any] | None:
    """Return the object that a broken text certainly means, None if it is ambiguous.

    Certain are: one escape too many throughout, fences around it, missing or superfluous brackets
    at its end and commas, single quotes, unquoted names, Python's `True`, and unescaped quotes and
    line ends in strings.
    """
    if len(text) > LONGEST:
        return None
    text = _FENCE.sub("", text).strip()
    if not text.startswith("{"):
        return None
    if (
        _ESCAPED_TOKEN.search(text)
        and (value := _object(_ESCAPE.sub(_unescaped, text))) is not None
    ):
        read = _read_strings(text)
        if read is None:
            return value if _ESCAPED_THROUGHOUT.fullmatch(text) else None
        return value if read == [string for string, _ in _strings(value)] else None
    repairer = load_optional(REPAIRER)
    if repairer is None:
        return None
    # Before version 0.64 the library reads `None` as a text.
    for provided in dict.fromkeys((text, _with_literals(text))):
        try:
            value = _object(
                repairer.repair_json(provided, ensure_ascii=False, skip_json_loads=True)
            )
        except (ValueError, RecursionError, AssertionError):  # it asserts that keys are strings
            continue
        if value is not None and _has_one_reading(text, value) and _is_certain(text, value):
            return value
    return None


def _object(text: Any) -> dict[str, Any] | None:
    try:
        value = decode_value(text)
    except (ValueError, RecursionError, TypeError):
        return None
    return value if isinstance(value, dict) else None


def continued(sent: str, value: dict[str, Any]) -> str | None:
    """Return the JSON of an object that begins with the text already sent, None if no such text has
    this value.
    """
    compact = msgspec.json.encode(value).decode()
    before = _TOKEN.sub(r"\1", sent)
    if not compact.startswith(before):
        return None
    whole = sent + compact[len(before) :]
    try:
        return whole if decode_value(whole) == value else None
    except ValueError:
        return None


def _has_one_reading(text: str, value: dict[str, Any]) -> bool:
    """Whether a value has the strings and the structure of a text, and no other value is possible.

    If every quote is where JSON has one, none belongs to a string, although the library can read
    several strings as one. Otherwise the quotes inside strings are in pairs, and none of them is
    where a string can begin or end. Brackets are only missing or superfluous at the end, colons are
    all there, and a missing comma is certain only before a name that cannot be a part of a string.
    """
    whole = msgspec.json.encode(value).decode()
    brackets = _BRACKET.findall(text)
    shape = _BRACKET.findall(whole)
    if brackets[: len(shape)] != shape[: len(brackets)] or text.count(":") != whole.count(":"):
        return False
    read = _read_strings(text)
    strings = list(_strings(value))
    is_loose = read is None or text.count(",") < whole.count(",")
    if is_loose and not all(_PLAIN_NAME.fullmatch(name) for name, is_name in strings if is_name):
        return False
    if read is not None:
        return read == [string for string, _ in strings]
    delimiter = min("\"'", key=lambda quote: text.find(quote) % (len(text) + 1))
    return not _ESCAPED_QUOTE.search(text) and not any(
        string.count(delimiter) % 2 or _STRUCTURAL_QUOTE.search(string)
        for string, is_name in strings
        if not is_name
    )


def _read_strings(text: str) -> list[str] | None:
    """Return the strings and names in a text, None if a quote is elsewhere than where JSON has
    one.
    """
    strings = list[str]()
    end = 0
    was_string = False
    for atom in _ATOM.finditer(text):
        gap = text[end : atom.start()]
        is_string = bool(atom[1])
        if '"' in gap or "'" in gap:
            return None
        # Between two strings, a comma can be missing; any other text at a quote is the text
        # of a string.
        if end and not _SEPARATOR.search(gap) and not (is_string and was_string and gap):
            return None
        if is_string or _COLON.match(text, atom.end()):
            strings.append(_ESCAPE.sub(_unescaped, atom[2] if is_string else atom[0]))
        elif not _VALUE.fullmatch(atom[0]):
            return None
        end = atom.end()
        was_string = is_string
    return None if '"' in text[end:] or "'" in text[end:] else strings


def _is_certain(text: str, value: dict[str, Any]) -> bool:
    """Whether a repair preserves the text.

    All its characters are present, in order, except those that structure JSON. Each string is
    between its two quotes, so no whitespace was lost and none is cut off; each name is followed by
    a colon; no other text is between them.
    """
    plain = _ESCAPE.sub(_unescaped, text)
    at = 0
    if _essence(text) != _essence(msgspec.json.encode(value).decode()):
        return False
    for string, is_name in _strings(value):
        found = (_name if is_name else _quoted)(string, plain, at)
        if found is None or not _BETWEEN.fullmatch(plain, at, found[0]):
            return False
        at = found[1]
    return _BETWEEN.fullmatch(plain, at) is not None


def _name(name: str, plain: str, at: int) -> tuple[int, int] | None:
    """Return where a name begins and ends; a name that contains a quote is a torn text."""
    if '"' in name or "'" in name:
        return None
    found = re.compile(rf"""["']?{re.escape(name)}["']?\s*:""").search(plain, at)
    return found.span() if found else None


def _quoted(string: str, plain: str, at: int) -> tuple[int, int] | None:
    """Return where a string begins and ends, including its quotes."""
    places = [place for quote in "\"'" if (place := plain.find(quote + string + quote, at)) >= 0]
    return (min(places), min(places) + len(string) + 2) if places else None


def _essence(text: str) -> str:
    return _STRUCTURE.sub("", _with_literals(_ESCAPE.sub(_unescaped, text)))


def _with_literals(text: str) -> str:
    """Return a text with JSON's literals instead of Python's, also inside strings."""
    return _LITERAL.sub(lambda found: _LITERALS[found.group()], text)


def _unescaped(found: re.Match[str]) -> str:
    code = found.group(1)
    return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPES.get(code, code)


def _strings(value: Any) -> Iterator[tuple[str, bool]]:
    """Yield the strings of a value in their order, and whether each is a name."""
    if isinstance(value, str):
        yield value, False
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name, True
            yield from _strings(inner)
