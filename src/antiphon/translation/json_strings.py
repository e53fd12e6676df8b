"""The strings inside a JSON text, read while the text arrives, however it is split (specification
section 16).

A custom tool's input, a shell's commands and a patch's diff are JSON strings to a chat model and
plain text to the client, which receives them as they grow.
"""

import re
from collections.abc import Callable
from typing import Any

Path = tuple[str | int, ...]
"""The position of a string in the value: keys and indexes from the root."""

Piece = tuple[Path, str, bool]
"""A stretch of one string, and whether that was its end."""

_PLAIN = re.compile(r'[^"\\]*')
_BLANK = re.compile(r"[\s,]*")
_SCALAR = re.compile(r"[^\s,\]}]*")
_NO_DIGITS = re.compile(r"[^0-9a-fA-F]")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class JsonStrings:
    """Reads a JSON text that arrives in pieces.

    Malformed JSON ends the reading; `is_broken` is then true.
    """

    def __init__(self) -> None:
        self.is_broken = False
        self._stack: list[dict[str, Any]] = []
        self._read: Callable[[str, int, list[Piece]], int] = self._value
        self._retained = ""
        """The beginning of an escape that waits for its end."""
        self._high = ""
        """The first half of a surrogate pair that waits for the second."""
        self._key: list[str] | None = None
        """The pieces of the key that is being read; None while a value is."""

    def feed(self, text: str) -> list[Piece]:
        """Add text; return its stretches of strings."""
        text = self._retained + text
        self._retained = ""
        pieces: list[Piece] = []
        at = 0
        while at < len(text) and not self.is_broken:
            at = self._read(text, at, pieces)
        return pieces

    @property
    def _path(self) -> Path:
        return tuple(level["at"] for level in self._stack)

    # The position in the text. Each method reads what is available and returns where it stopped.

    def _value(self, text: str, at: int, pieces: list[Piece]) -> int:
        at = self._skip(text, at)
        if at == len(text):
            return at
        opened = text[at]
        if opened == '"':
            self._read = self._string
            return at + 1
        if opened in "{[":
            self._stack.append({"at": 0 if opened == "[" else "", "is_list": opened == "["})
            self._read = self._value if opened == "[" else self._name
            return at + 1
        if opened in "]}":
            return self._close(at)
        if opened in "-0123456789tfn":
            self._read = self._scalar
            return at
        self.is_broken = True
        return at

    def _name(self, text: str, at: int, pieces: list[Piece]) -> int:
        at = self._skip(text, at)
        if at == len(text):
            return at
        if text[at] == '"':
            self._key = []
            self._read = self._string
            return at + 1
        if text[at] == "}":
            return self._close(at)
        self.is_broken = True
        return at

    def _colon(self, text: str, at: int, pieces: list[Piece]) -> int:
        at = self._skip(text, at)
        if at == len(text):
            return at
        self.is_broken = text[at] != ":"
        self._read = self._value
        return at + 1

    def _scalar(self, text: str, at: int, pieces: list[Piece]) -> int:
        at = _SCALAR.match(text, at).end()  # type: ignore[union-attr]
        if at < len(text):
            self._end_value()
        return at

    def _string(self, text: str, at: int, pieces: list[Piece]) -> int:
        end = _PLAIN.match(text, at).end()  # type: ignore[union-attr]
        if end > at:
            self._emit(self._joined(text[at:end]), pieces)
        if end == len(text):
            return end
        if text[end] == '"':
            self._end_string(pieces)
            return end + 1
        return self._escape(text, end, pieces)

    def _escape(self, text: str, at: int, pieces: list[Piece]) -> int:
        is_unicode = text[at + 1 : at + 2] == "u"
        size = 6 if is_unicode else 2
        digits = text[at + 2 : at + size]
        if _NO_DIGITS.search(
            digits
        ):  # not an escape: a model that writes TeX, or a path, means it literally
            self._emit(self._joined("\\u"), pieces)
            return at + 2
        if len(text) - at < size:
            self._retained = text[at:]
            return len(text)
        if is_unicode:
            self._unicode(chr(int(digits, 16)), pieces)
        else:
            self._emit(self._joined(_ESCAPES.get(text[at + 1], text[at + 1])), pieces)
        return at + size

    def _unicode(self, char: str, pieces: list[Piece]) -> None:
        if "\ud800" <= char <= "\udbff":
            self._emit(self._joined(""), pieces)
            self._high = char
        elif self._high and "\udc00" <= char <= "\udfff":
            pair = self._high + char
            self._high = ""
            self._emit(pair.encode("utf-16", "surrogatepass").decode("utf-16"), pieces)
        else:
            self._emit(self._joined("\ufffd" if "\udc00" <= char <= "\udfff" else char), pieces)

    def _joined(self, text: str) -> str:
        """Return the text to emit; an unpaired half is not a character."""
        alone = self._high
        self._high = ""
        return ("\ufffd" if alone else "") + text

    def _emit(self, text: str, pieces: list[Piece]) -> None:
        if not text:
            return
        if self._key is not None:
            self._key.append(text)
        else:
            pieces.append((self._path, text, False))

    def _end_string(self, pieces: list[Piece]) -> None:
        self._emit(self._joined(""), pieces)
        if self._key is not None:
            self._stack[-1]["at"] = "".join(self._key)
            self._key = None
            self._read = self._colon
            return
        pieces.append((self._path, "", True))
        self._end_value()

    def _end_value(self) -> None:
        if not self._stack:
            self._read = self._rest
        elif self._stack[-1]["is_list"]:
            self._stack[-1]["at"] += 1
            self._read = self._value
        else:
            self._read = self._name

    def _close(self, at: int) -> int:
        if self._stack:
            self._stack.pop()
        self._end_value()
        return at + 1

    def _rest(self, text: str, at: int, pieces: list[Piece]) -> int:
        return len(text)

    @staticmethod
    def _skip(text: str, at: int) -> int:
        return _BLANK.match(text, at).end()  # type: ignore[union-attr]
