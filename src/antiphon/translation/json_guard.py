"""How much of a JSON object can be sent while a model still writes it.

What the client has received is final, and a model can write malformed JSON. So text is sent as far
as any repair preserves it: within a string at once; the quote that ends a string, a comma, or a
number only when the next token proves that it was meant so. After the first error nothing more is
sent.
"""

import re

_BLANK = re.compile(r"[ \t\r\n]*")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
_ESCAPE_BEGUN = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_SCALAR = re.compile(r"[^ \t\r\n,:\[\]{}\"'\\]+")
_SOUND = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")

LONGEST_BUFFERED = 4096
"""Characters that wait for what follows: whitespace, or a number. More of them are an error, which
keeps the work linear.
"""

_NEXT: dict[str, dict[str, str]] = {
    "object": {"{": "first name"},
    "value": {"{": "first name", "[": "first value", '"': "text", "0": "after"},
    "first value": {"{": "first name", "[": "first value", '"': "text", "0": "after", "]": "after"},
    "first name": {'"': "text", "}": "after"},
    "name": {'"': "text"},
    "colon": {":": "value"},
    "after": {",": "next", "}": "after", "]": "after"},
    "over": {},
}
"""By expectation: the possible tokens, and the next expectation. `0` is a number or a literal."""


class JsonGuard:
    """Reads a JSON object in pieces, in linear time; `is_broken` once it is not JSON."""

    def __init__(self) -> None:
        self.is_broken = False
        self._expected = "object"
        self._open: list[str] = []
        self._is_name = False
        """Whether the string that is being read, or was read last, is a name."""
        self._in_text = False
        self._text = ""
        """Text that was not sent yet."""
        self._at = 0
        """How much of that was read."""

    def feed(self, piece: str) -> str:
        """Add a piece; return what can be sent now."""
        if self.is_broken:
            return ""
        self._text += piece
        safe = 0
        while self._at < len(self._text) and not self.is_broken:
            before = self._at
            safe = max(safe, self._read_text() if self._in_text else self._read_token())
            if self._at == before:
                break
        sent = self._text[:safe]
        self._text = self._text[safe:]
        self._at -= safe
        self.is_broken = self.is_broken or len(self._text) > LONGEST_BUFFERED
        return sent

    def _read_text(self) -> int:
        """Continue within a string; return how far the text can be sent."""
        text = self._text
        safe = self._at = _PLAIN.match(text, self._at).end()  # type: ignore[union-attr]
        if safe == len(text):
            return safe
        if text[safe] == '"':
            self._in_text = False
            self._at = safe + 1
            self._expected = "colon" if self._is_name else self._after()
        elif escape := _ESCAPE.match(text, safe):
            safe = self._at = escape.end()
        else:
            self.is_broken = _ESCAPE_BEGUN.match(text, safe) is None
        return safe

    def _read_token(self) -> int:
        """Read a token; return how far the text can be sent."""
        text = self._text
        at = _BLANK.match(text, self._at).end()  # type: ignore[union-attr]
        if at == len(text):
            return 0
        scalar = _SCALAR.match(text, at)
        if scalar is not None and scalar.end() == len(text):
            return 0
        mark = text[at] if scalar is None else "0"
        then = _NEXT[self._expected].get(mark)
        is_sound = scalar is None or _SOUND.fullmatch(scalar.group()) is not None
        if then is None or not is_sound or not self._nests(mark):
            self.is_broken = True
            return 0
        before = self._expected
        self._at = at + 1 if scalar is None else scalar.end()
        self._expected = self._after() if then == "after" else then
        if then == "next":
            self._expected = "name" if self._open[-1] == "{" else "value"
            return 0
        if then == "text":
            self._in_text = True
            self._is_name = "name" in before
        return at if mark == "0" else self._at

    def _nests(self, mark: str) -> bool:
        """Open or close a level; return whether it is the open one."""
        if mark in "{[":
            self._open.append(mark)
        elif mark in "}]":
            return self._open.pop() == ("{" if mark == "}" else "[")
        return True

    def _after(self) -> str:
        return "after" if self._open else "over"
