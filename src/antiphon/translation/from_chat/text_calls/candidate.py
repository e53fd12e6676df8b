"""A stretch of text that can be a call: its format, its end, and what can follow it."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from antiphon.translation.from_chat.text_calls.formats import (
    LONGEST_CLOSING,
    OPENINGS,
    CallHead,
    Format,
)
from antiphon.translation.from_chat.text_calls.found import (
    NoCallError,
    Offers,
    TextCall,
    UnfinishedError,
)
from antiphon.translation.from_chat.text_calls.place import TURN_ENDS
from antiphon.translation.from_chat.text_calls.values import finished

MAX_HEAD = 300
"""Characters within which a call shows its format, and the line after it shows whether it ends."""

MAX_TRIES = 16
"""Closing marks inside values that are tried before the text is not a call."""

_NAME = re.compile(r"[A-Za-z0-9_-]*")


class CandidateVerdict(NamedTuple):
    """The result for a candidate: its calls, none if it is text, and the text that remains to be
    read.
    """

    calls: list[TextCall]
    text: str
    was_buffered: bool = False
    """Whether it began like a call."""


class CallCandidate:
    """Text from the position where a call can begin. `offers` are the tools that can be called.

    Each step returns a `CandidateVerdict`, or None if more text is needed. The verdict depends only
    on the whole text, not on the pieces in which it arrived, and the work is linear in its length.
    """

    def __init__(self, heads: Sequence[CallHead], offers: Offers) -> None:
        self._heads = heads
        self._offers = offers
        self._format: Format | None = None
        self._pieces: list[str] = []
        self._tail = ""
        """The end of the pieces, in which a closing mark can have begun."""
        self._tries = 0
        self._calls: list[TextCall] = []
        self._behind = ""
        """The text after the calls, once they are found."""

    def feed(self, text: str) -> CandidateVerdict | None:
        """Add text."""
        if self._calls:
            self._behind += text
            return self._match_behind(is_last=False)
        if self._format is None:
            self._pieces = ["".join((*self._pieces, text))]
            if not self._choose():
                return None if self._heads else self._no_call()
            text = self._pieces[0]
            self._pieces = []
        return self._search(text)

    def end(self, *, is_answer: bool) -> CandidateVerdict:
        """End of the text. A call without a closing mark counts only at the end of the answer
        (`is_answer`).
        """
        if not self._calls and self._format is not None and is_answer:
            text = "".join(self._pieces)
            try:
                self._parse(text)
            except NoCallError:
                return self._no_call()
        if not self._calls:
            return self._no_call()
        return self._match_behind(is_last=True) or self._no_call()

    # The format.

    def _choose(self) -> bool:
        """Determine the format; only the heads that are still possible remain."""
        begun = self._pieces[0][:MAX_HEAD]
        compact = "".join(begun.split())
        near = [
            each
            for each in self._heads
            if each.before.startswith(compact) or compact.startswith(each.before)
        ]
        left: list[CallHead] = []
        for head in near:
            fits = _fits(head, compact, self._offers)
            if fits:
                self._format = head.format
                return True
            if fits is None and len(begun) < MAX_HEAD:
                left.append(head)
        self._heads = left
        return False

    # The end.

    def _search(self, text: str) -> CandidateVerdict | None:
        closing = self._format.closing if self._format else None
        if closing is None:
            self._pieces.append(text)
            return None
        # The end of the earlier text too: a closing mark can be split between two parts.
        window = self._tail + text
        taken = len(self._tail)
        at = 0
        while found := closing.search(window, at):
            at = found.end()
            self._pieces.append(window[taken:at])
            taken = max(taken, at)
            # The mark can be inside a value, such as a file that the call writes: then the parser
            # needs more text.
            self._tries += 1
            try:
                self._parse("".join(self._pieces))
            except UnfinishedError:
                if self._tries < MAX_TRIES:
                    continue
                return self._no_call(window[taken:])
            except NoCallError:
                return self._no_call(window[taken:])
            # A call so far. Whether it counts depends on what follows it.
            self._behind += window[taken:]
            return self._match_behind(is_last=False)
        self._pieces.append(window[taken:])
        # No longer than a mark, and not before the last one: what is kept is searched again.
        self._tail = window[max(at, len(window) - LONGEST_CLOSING) :]
        return None

    def _parse(self, text: str) -> None:
        """Find the calls at the beginning of `text`. Raises `NoCallError`."""
        if self._format is None:
            raise NoCallError("No format fits.")
        calls, end = self._format.parse(text, self._offers)
        if not calls:
            raise UnfinishedError("The call does not end.")
        self._calls = [finished(call, self._offers) for call in calls]
        self._pieces = [text[:end]]
        self._behind = text[end:]

    # What follows.

    def _match_behind(self, *, is_last: bool) -> CandidateVerdict | None:
        """Accept the calls if their line ends, or another call or the end of the turn follows;
        otherwise it is prose.
        """
        row = self._format
        seen = self._behind[:MAX_HEAD]
        more = self._behind[MAX_HEAD:]
        # Enough text to decide: whatever comes later, nothing waits for it.
        is_last = is_last or len(seen) == MAX_HEAD
        if row is None or (row.stand != "token" and self._behind.strip()):
            return self._no_call()
        # Some models omit an outer opening mark, but write its closing mark.
        if row.stray:
            stray = _at(seen.lstrip(), row.stray, is_last=is_last)
            if stray is None:
                return None
            seen = seen.lstrip()[len(row.stray) :] if stray else seen
        # The end of the model's turn follows a call, and never a mention.
        seen = _behind_turn(seen)
        line = seen.lstrip(" \t\r")
        if (not line and is_last) or line[:1] == "\n" or (row.closing and _begins_sentence(seen)):
            return self._accept(seen + more)
        # Several calls in a row: the next one proves that this one is no mention.
        compact = "".join(line.split())
        follows = {_at(compact, mark, is_last=is_last) for mark in OPENINGS}
        if True in follows:
            return self._accept(seen + more)
        follows.update(_at(line, mark, is_last=is_last) for mark in TURN_ENDS)
        return None if None in follows else self._no_call()

    def _accept(self, rest: str) -> CandidateVerdict:
        raw = self._pieces[0] + self._behind[: len(self._behind) - len(rest)]
        return CandidateVerdict(
            [replace(call, raw=raw if not at else "") for at, call in enumerate(self._calls)], rest
        )

    def _no_call(self, rest: str = "") -> CandidateVerdict:
        return CandidateVerdict(
            [], "".join((*self._pieces, self._behind, rest)), was_buffered=self._format is not None
        )


def _begins_sentence(text: str) -> bool:
    """Whether a sentence begins directly after it: LFM2's model card has its answer right after the
    closing mark.
    """
    return text[:1].isalpha() and not text[0].islower()


def _behind_turn(text: str) -> str:
    """Return `text` without the tokens that end the turn."""
    while rest := next(
        (text.lstrip(" ")[len(mark) :] for mark in TURN_ENDS if text.lstrip(" ").startswith(mark)),
        None,
    ):
        text = rest
    return text if rest is None else ""


def _at(text: str, mark: str, *, is_last: bool) -> bool | None:
    """Whether `text` begins with `mark`; None if more text can make it so."""
    if text.startswith(mark):
        return True
    return None if not is_last and mark.startswith(text) else False


def _fits(head: CallHead, text: str, names: Offers) -> bool | None:
    """Whether `text` begins with `head` and any of `names` in it; None if more text can make it
    so.
    """
    _, before, after = head
    if after is None or not text.startswith(before):
        return _at(text, before, is_last=False)
    named = _NAME.match(text, len(before))
    end = named.end() if named else len(before)
    name = text[len(before) : end]
    if end == len(text):
        return None if any(each.startswith(name) for each in names) else False
    return _at(text[end:], after, is_last=False) if name in names else False
