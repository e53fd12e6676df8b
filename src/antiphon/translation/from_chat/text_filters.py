"""Filters that a text passes before it is sent: characters that a backend split, and reasoning
inside the text.

The halves of a surrogate pair can arrive in two deltas. A tag such as `<think>`
(`reasoning_tags.py`) can be at the beginning of a text, split over chunks, never closed, or opened
by the template: a chat template can open the block itself, so that the model's text starts inside
it and only `</think>` is visible. With `preopened`, the splitter treats a text without an opening
tag as reasoning; otherwise a closing tag alone at the start of a line shows that the text before it
was reasoning. What an answer shows of the template sets `preopened` for the next one.
"""

import re
from collections.abc import Callable
from typing import Any

from antiphon.translation.from_chat.reasoning_tags import (
    ANSWERS,
    ENDS,
    FIRSTS,
    OPENINGS,
    TAGS,
    THINK,
    closes_of,
)

HALF = re.compile("[\ud800-\udfff]")


class SurrogateJoiner:
    """Joins halves over deltas, a field at a time; a half without its other half becomes U+FFFD.

    `halves` are those that wait, by field.
    """

    def __init__(self) -> None:
        self.halves: dict[str, str] = {}

    def whole(self, field: str, text: str) -> str:
        """Return the text of this delta of `field` as far as its characters are complete."""
        if not self.halves and (text.isascii() or not HALF.search(text)):
            return text
        text = self.halves.pop(field, "") + text
        if text and "\ud800" <= text[-1] <= "\udbff":
            self.halves[field] = text[-1]
            text = text[:-1]
        return _replaced(text)

    def rest(self, field: str) -> str:
        """Return the rest of `field` at its end: U+FFFD for a waiting half, otherwise nothing."""
        return "\ufffd" if self.halves.pop(field, "") else ""


def repaired(value: Any) -> Any:
    """Return JSON data in which every unpaired half is U+FFFD: halves cannot be encoded."""
    match value:
        case str():
            return _replaced(value) if HALF.search(value) else value
        case list():
            return [repaired(member) for member in value]
        case dict():
            return {repaired(key): repaired(member) for key, member in value.items()}
    return value


def _replaced(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


BARE_CLOSE = "</think>"

Piece = tuple[bool, str]
"""Whether it is reasoning, and the text. An empty piece of reasoning ends the text before it."""


class ThinkSplitter:
    """Splits text as it arrives into reasoning and answer. Whitespace around the opening tag and
    after the closing one is removed with them. `is_quoted` says whether the request mentions a tag,
    which is then part of the text.
    """

    def __init__(
        self, preopened: bool = False, is_quoted: Callable[[str], bool] | None = None
    ) -> None:
        self.preopened = preopened
        self._is_quoted = is_quoted
        self._is_first = True
        """Whether no call came before the text."""
        self._was_over = False
        """Whether the text before the calls was searched to its end."""
        self._is_stopped = False
        # Not a bound method: a splitter that refers to itself would wait for the garbage collector.
        self._poll = ThinkSplitter._at_start
        self._is_assumed = preopened
        self._is_answer = False
        self._is_over = False
        self._closes: tuple[str, ...] = (BARE_CLOSE,)
        self._unclosed: list[str] = []
        """The text from the tag on that opened reasoning, unless only reasoning is written so."""
        self._retained = ""
        self.last = ""
        """The last answer text, even if it need not be fed."""
        self.mark: str | None = None
        """The character that makes a text anything but answer, empty if nothing does; None: it must
        be fed.
        """
        self._parts = False
        self._strip = False

    @property
    def is_misplaced(self) -> bool:
        """Whether all text was treated as reasoning only because of `preopened`, or of a tag that
        can begin a text: the block never closed.
        """
        return (
            self._is_assumed or bool(self._unclosed)
        ) and self._poll == ThinkSplitter._in_reasoning

    @property
    def unclosed(self) -> str:
        """The text of a block that never closed, with its tag as it was written; empty if no such
        tag opened it.
        """
        return "".join(self._unclosed)

    def is_plain(self, text: str) -> bool:
        """Whether this text is certainly answer, and need not be fed."""
        mark = self.mark
        if mark is None or (mark and mark in text):
            return False
        self.last = text
        return True

    def feed(self, text: str) -> list[Piece]:
        """Add text; return what is certain by now."""
        pieces: list[Piece] = []
        text = self._retained + text
        self._retained = ""
        while text:
            if self._strip:
                stripped = text.lstrip()
                if self._unclosed:
                    self._unclosed.append(text[: len(text) - len(stripped)])
                text = stripped
                self._strip = not stripped
            else:
                text = self._poll(self, text, pieces)
        self._set_mark()
        return pieces

    def flush(self) -> list[Piece]:
        """Return what was held back: something else follows, or nothing."""
        retained = self._retained
        self._retained = ""
        self._set_mark()
        is_inside = self._poll == ThinkSplitter._in_reasoning
        if is_inside and self._unclosed:
            self._unclosed.append(retained)
        return [(is_inside, retained)] if retained else []

    def restart(self) -> None:
        """A call begins: the text after it can begin with reasoning again."""
        self._unclosed = []
        if self._is_stopped or self._poll in (ThinkSplitter._at_start, ThinkSplitter._in_reasoning):
            return
        self._is_first = False
        self._was_over = self._is_over
        self._poll = ThinkSplitter._at_start
        self._is_answer = False
        self._is_over = False
        self._is_assumed = self._parts = self._strip = False
        self._set_mark()

    def stop(self) -> None:
        """Stop searching: the backend has a separate field for reasoning.

        An open block must still close.
        """
        self._is_stopped = True
        if self._poll == ThinkSplitter._at_start:
            self.preopened = False
        if self._poll != ThinkSplitter._in_reasoning:
            self._enter_rest()
        self._set_mark()

    def _set_mark(self) -> None:
        if not self._is_answer or self._strip or self._retained:
            self.mark = None
        else:
            self.mark = "" if self._is_over else BARE_CLOSE[0]

    # The position in the text. Each method reads what is available, adds what is certain, and
    # returns the rest.

    def _at_start(self, text: str, pieces: list[Piece]) -> str:
        stripped = text.lstrip()
        if not stripped:
            if not self._is_assumed:
                pieces.append((False, text))
            return ""
        if stripped[0] in FIRSTS:
            tag = next((opening for opening in OPENINGS if stripped.startswith(opening)), None)
            if tag is None and any(opening.startswith(stripped) for opening in OPENINGS):
                self._retained = text
                return ""
            if tag is not None and (
                tag in THINK or self._is_quoted is None or not self._is_quoted(tag)
            ):
                return self._open(tag, stripped, pieces)
        if self._is_assumed:
            self._poll = ThinkSplitter._in_reasoning
            return stripped
        self._poll = ThinkSplitter._in_answer
        self._is_answer = True
        if self._was_over:
            self._enter_rest()
        return text

    def _open(self, tag: str, text: str, pieces: list[Piece]) -> str:
        self._is_assumed = False
        if self._is_first:
            self.preopened = False
        if tag in ANSWERS:
            self._poll = ThinkSplitter._in_channel
            self._is_answer = True
            if self.last:
                pieces.append((True, ""))  # each text of the harmony format is a message
        else:
            self._poll, self._closes, self._strip = (
                ThinkSplitter._in_reasoning,
                closes_of(tag),
                True,
            )
            self._unclosed = [] if tag in THINK else [tag]
        return text[len(tag) :]

    def _in_channel(self, text: str, pieces: list[Piece]) -> str:
        """Read an answer of the harmony format, which a token ends."""
        end = min((place for end in ENDS if (place := text.find(end)) >= 0), default=None)
        if end is None:
            text, self._retained = min(
                (_hold_back(text, end) for end in ENDS), key=lambda retained: len(retained[0])
            )
            rest = ""
        else:
            text, rest = text[:end], text[text.index("|>", end) + 2 :]
            self._poll = ThinkSplitter._at_channel
            self._is_answer = False
        if text:
            self.last = text
            pieces.append((False, text))
        return rest

    def _at_channel(self, text: str, pieces: list[Piece]) -> str:
        """Read what follows the end of a text or of reasoning in the harmony format."""
        stripped = text.lstrip()
        tag = next((opening for opening in _CHANNELS if stripped.startswith(opening)), None)
        if tag is not None:
            return self._open(tag, stripped, pieces)
        if any(opening.startswith(stripped) for opening in _CHANNELS):
            self._retained = text
            return ""
        self._enter_rest()
        return text

    def _in_reasoning(self, text: str, pieces: list[Piece]) -> str:
        close = min(
            self._closes, key=lambda each: text.find(each) % (len(text) + 1)
        )  # the first one that is there
        inside, close, rest = text.partition(close)
        if close:
            if close in ENDS:
                self._poll = ThinkSplitter._at_channel
            else:
                self._enter_rest()
            self._strip = True
            self._unclosed = []
        else:
            inside, self._retained = min(
                (_hold_back(text, each) for each in self._closes),
                key=lambda retained: len(retained[0]),
            )
            if self._unclosed:
                self._unclosed.append(inside)
        if inside:
            pieces.append((True, inside))
        return rest

    def _in_answer(self, text: str, pieces: list[Piece]) -> str:
        before, close, rest = text.partition(BARE_CLOSE)
        if close and self._is_line_start(before):
            self._enter_rest()
            self._strip = self.preopened = True
            # Text that was already sent stays text, but separate from the answer.
            is_stated = self._parts = bool(self.last)
            before = before if is_stated else before.lstrip()
            if before:
                pieces.append((not is_stated, before))
            return rest
        if close:
            self._enter_rest()
            before = text
            rest = ""
        else:
            before, self._retained = _hold_back(text, BARE_CLOSE)
        if before:
            self.last = before
            pieces.append((False, before))
        return rest

    def _in_rest(self, text: str, pieces: list[Piece]) -> str:
        if self._parts:
            self._parts = False
            pieces.append((True, ""))
        pieces.append((False, text))
        return ""

    def _enter_rest(self) -> None:
        self._poll = ThinkSplitter._in_rest
        self._is_answer = True
        self._is_over = True

    def _is_line_start(self, before: str) -> bool:
        return ((self.last or "\n") + before).rstrip(" \t").endswith("\n")


_CHANNELS = tuple(opening for opening in OPENINGS if TAGS.get(opening, ENDS[0]) in ENDS)
"""What opens a channel of the harmony format."""


def _hold_back(text: str, tag: str) -> tuple[str, str]:
    """Split off the end of `text` that can be the beginning of `tag`."""
    for size in range(min(len(tag) - 1, len(text)), 0, -1):
        if tag.startswith(text[-size:]):
            return text[:-size], text[-size:]
    return text, ""
