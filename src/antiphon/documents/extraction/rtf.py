"""RTF: its text, without fonts, styles and pictures."""

import codecs
import re

from antiphon.documents.extraction.output import Output
from antiphon.documents.extraction.problem import damaged

_TOKEN = re.compile(
    rb"\\([a-z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-f]{2})|\\([^a-z])|([{}])|[\r\n]+|([^\\{}\r\n]+)",
    re.IGNORECASE,
)

_SKIPPED = frozenset({
    b"fonttbl", b"colortbl", b"stylesheet", b"listtable", b"listoverridetable", b"info", b"pict", b"object",  # noqa: E501 - one text, or a row of a table
    b"themedata", b"colorschememapping", b"datastore", b"latentstyles", b"generator", b"xmlnstbl",
    b"fldinst", b"rsidtbl", b"revtbl", b"nonshppict", b"bkmkstart", b"bkmkend", b"datafield",
    b"shprslt",
})  # fmt: skip
"""Groups that are not text of the document."""

_DISPLAYED = frozenset({b"annotation", b"shptxt"})
"""Groups of text inside groups that old readers skip: comments and text boxes."""

_WORDS = {
    b"par": "\n\n", b"sect": "\n\n", b"page": "\n\n", b"line": "\n", b"tab": "\t", b"cell": " | ", b"row": "\n",  # noqa: E501 - one text, or a row of a table
    b"nestcell": "; ", b"footnote": " ", b"annotation": " ",
    b"lquote": "\u2018", b"rquote": "\u2019", b"ldblquote": "\u201c", b"rdblquote": "\u201d", b"endash": "\u2013",  # noqa: E501 - one text, or a row of a table
    b"emdash": "\u2014", b"bullet": "\u2022",
}  # fmt: skip
_SIGNS = {
    b"~": "\u00a0",
    b"_": "\u2011",
    b"\\": "\\",
    b"{": "{",
    b"}": "}",
    b"\n": "\n\n",
    b"\r": "\n\n",
}
_CHARSETS = {128: "cp932", 129: "cp949", 134: "gbk", 136: "big5", 161: "cp1253", 162: "cp1254", 177: "cp1255",  # noqa: E501 - one text, or a row of a table
             178: "cp1256", 204: "cp1251", 238: "cp1250"}  # fmt: skip
"""Charset of a font -> the code page of its bytes."""

DEEPEST = 10_000


def read_rtf(content: bytes, output: Output) -> None:
    """Write the text of an RTF document. Raises `Problem`."""
    if not content.startswith(b"{\\rtf"):
        raise damaged("RTF document")
    reader = _Rtf(output)
    for token in _TOKEN.finditer(content):
        reader.take(token)
    reader.flush()


class _Rtf:
    """Converts tokens to text.

    A group has its own settings: whether it is skipped, and how it replaces characters.
    """

    def __init__(self, output: Output) -> None:
        self._write = output.write
        self._is_skipped = False
        self._fallback = 1
        """Bytes after a Unicode character that repeat it for old readers."""
        self._codec = "cp1252"
        self._outer: list[tuple[bool, int, str]] = []
        self._fonts: dict[int, str] = {}
        self._font = 0
        self._default = "cp1252"
        self._is_fonts = False
        self._to_skip = 0
        self._bytes = bytearray()
        """Text that is not decoded yet: a character can be several escaped bytes."""
        self._half = ""
        """The first half of a surrogate pair."""

    def take(self, token: re.Match[bytes]) -> None:
        word, number, escaped, sign, brace, text = token.groups()
        if brace:
            self._brace(brace)
        elif word:
            self._word(word.lower(), int(number) if number else None)
        elif sign == b"*":
            self._is_skipped = True
        elif escaped or text:
            self._add(bytes([int(escaped, 16)]) if escaped else text)
        elif sign:
            self._emit(_SIGNS.get(sign, ""))

    def flush(self) -> None:
        if self._bytes:
            self._write(bytes(self._bytes).decode(self._codec, "replace"))
            self._bytes.clear()

    def _brace(self, brace: bytes) -> None:
        self.flush()
        self._to_skip = 0
        if brace == b"{":
            if len(self._outer) >= DEEPEST:
                raise damaged("RTF document")
            self._outer.append((self._is_skipped, self._fallback, self._codec))
        elif self._outer:
            self._is_skipped, self._fallback, self._codec = self._outer.pop()
            self._is_fonts = self._is_fonts and self._is_skipped

    def _word(self, word: bytes, number: int | None) -> None:
        if word == b"u" and number is not None:
            self._emit_unicode(number)
            return
        if word in _DISPLAYED:
            self._is_skipped = False
        if word == b"uc":
            self._fallback = number or 0
        elif word == b"ansicpg" and number is not None:
            self._default = self._codec = _codec(f"cp{number}")
        elif word == b"fonttbl":
            self._is_skipped = self._is_fonts = True
        elif word == b"f" and number is not None:
            self.flush()
            self._font = number
            if not self._is_fonts:
                self._codec = self._fonts.get(number, self._default)
        elif word == b"fcharset" and self._is_fonts and number in _CHARSETS:
            self._fonts[self._font] = _CHARSETS[number]
        elif word in _SKIPPED:
            self._is_skipped = True
        elif word in _WORDS:
            self._emit(_WORDS[word])

    def _add(self, text: bytes) -> None:
        if self._to_skip:
            cut = min(self._to_skip, len(text))
            self._to_skip -= cut
            text = text[cut:]
        if not self._is_skipped:
            self._bytes += text

    def _emit(self, text: str) -> None:
        self._to_skip = 0
        if text and not self._is_skipped:
            self.flush()
            self._write(text)

    def _emit_unicode(self, number: int) -> None:
        character = chr(number % 0x10000)
        if "\ud800" <= character < "\udc00":
            self._half = character
        elif "\udc00" <= character < "\ue000" and self._half:
            both = (self._half + character).encode("utf-16-le", "surrogatepass")
            self._emit(both.decode("utf-16-le", "replace"))
            self._half = ""
        else:
            self._emit(character)
        self._to_skip = self._fallback


def _codec(name: str) -> str:
    try:
        codecs.lookup(name)
    except LookupError:
        return "cp1252"
    return name
