"""Reads an answer's text as it streams, and finds the calls in it.

Theory of operation.

A call is known only at its end: until then, the same characters can be a mention of the format in
prose, and what looks like arguments can be text that the client must receive. So text that can
begin a call is held back, and is emitted later as one whole call, or as the text that it was. All
other text is emitted at once.

A call counts where models write calls: at the beginning of a line or right after a word, not in
code, with nothing after it on its line, and only for a tool that can be called. Three parts decide:

    this reader    where a call can begin; it keeps the state, and the order of what is emitted
    `place.py`     the position in the Markdown text: at the beginning of a line, in a code block, in a quotation
    `candidate.py` one stretch of text: its format, whether it has ended, whether what follows permits a call

The states of the reader:

    FIRST ── the first word ──> TEXT                     an answer can also be a call as a whole: the bare formats
    TEXT ── a sign where a call can begin ──> CANDIDATE  it takes all text until its verdict
    CANDIDATE ── verdict: calls ──> TEXT                 the position after a call counts as the beginning of a line
    CANDIDATE ── verdict: text ──> TEXT                  the text is read again; its first character begins no call
    TEXT ── backticks or tildes at the end of a part ──> RUN ── another character, or the end ──> TEXT
                                                         the length of a run decides whether it opens a code block

A part without a sign is text in any case, unless one of the other states holds text back. It is
emitted unread, and read before the next part that has a sign: most deltas of most answers cost one
search of a regular expression.

What holds always, for any text (`test_properties.py`):

- Each character is emitted exactly once and in order: as text, or within the `raw` text of a call.
- The result does not depend on how the text is split into parts.
- The work is linear in the length: `MAX_FAILED` bounds how often text is read again, `MAX_HEAD` how
  long a candidate has no format, `MAX_TRIES` how often it is parsed. Beyond these bounds, the rest
  is text.
"""  # noqa: E501 - a table, a diagram or an example

import re
from collections.abc import Mapping, Sequence

from antiphon.protocol.tool_bindings import Offer
from antiphon.translation.from_chat.text_calls.candidate import (
    MAX_HEAD,
    CallCandidate,
    CandidateVerdict,
)
from antiphon.translation.from_chat.text_calls.formats import CallHead, heads_of
from antiphon.translation.from_chat.text_calls.found import TextCall
from antiphon.translation.from_chat.text_calls.place import TextPlace

Piece = str | TextCall

MAX_FAILED = 20
"""Stretches of one answer that began like a call and were not: after this many, the answer is about
calls, and has none.

So no text is read more often than that.
"""

_MARKED = heads_of("token")
_ON_LINE = heads_of("token", "line")
_FIRST = heads_of("token", "line", "answer")


def _begun(sign: str) -> str:
    """Return the pattern of a mark's first character, followed by its second, whitespace or the end
    of the text.
    """
    seconds = {re.escape(head.before[1]) for head in _ON_LINE if head.before[0] == sign}
    return rf"{re.escape(sign)}(?=[\s{''.join(sorted(seconds))}]|$)"


_SIGNS = re.compile(rf"\n|`+|~+|{_begun('<')}|{_begun('[')}")
"""What changes the position in the text, or can begin a call inside it."""

FIRSTS = "`~<["
"""The characters with which a sign begins."""

has_sign = re.compile(rf"[`~]|{_begun('<')}|{_begun('[')}").search
"""Finds in a part of a text what can begin a call, or a run that can continue in the next part.

A part without any is text, whatever its position: it is sent at once, and read only before a part
that has a sign.
"""

_STARTS = tuple({re.findall(r"\w+|.", head.before)[0] for head in _FIRST})
_INITIALS = tuple({start[0] for start in _STARTS})
_IN_TEXT = re.compile("|".join({re.escape(head.before) for head in _ON_LINE})).search


def is_text(answer: str, *, only_marked: bool = False) -> bool:
    """Whether a whole answer certainly has no call in it."""
    if has_sign(answer) and _IN_TEXT("".join(answer.split())):
        return False
    return only_marked or not "".join(answer.lstrip()[:MAX_HEAD].split()).startswith(_STARTS)


class TextCallReader:
    """Finds the calls of `offers`, the tools that can be called by their names, in a text that
    arrives in pieces.

    With `only_marked`, only formats with marks count.
    """

    def __init__(self, offers: Mapping[str, Offer], *, only_marked: bool = False) -> None:
        self._offers = offers
        self._place = TextPlace()
        self._candidate: CallCandidate | None = None
        self._run: list[str] = []
        """A run of backticks or tildes that can continue."""
        self._on_line = _MARKED if only_marked else _ON_LINE
        self._is_first = not only_marked
        """Whether the answer so far is only whitespace, and can be a call as a whole."""
        self._failed = 0
        self.unread: list[str] = []
        """Parts without a sign, since the last one with a sign."""

    @property
    def is_steady(self) -> bool:
        """Whether a part without a sign is text."""
        return self._candidate is None and not self._run and not self._is_first

    def feed(self, text: str) -> list[Piece]:
        """Add text; return what is certain by now."""
        if self.is_steady and not has_sign(text):
            self.unread.append(text)
            return [text]
        self._catch_up()
        pieces: list[Piece] = []
        self._read(text, pieces)
        return _joined(pieces) if len(pieces) > 1 else pieces

    def flush(self, *, is_answer: bool) -> list[Piece]:
        """Return what was held back: the answer is over (`is_answer`), or something other than text
        follows.
        """
        if self._candidate is None and not self._run:
            return []
        pieces: list[Piece] = []
        while self._candidate is not None:
            candidate = self._candidate
            self._candidate = None
            text, is_refused = self._judge(candidate.end(is_answer=is_answer), pieces)
            self._read(text, pieces, is_refused=is_refused)
        if self._run:
            self._end_run(pieces)
        return _joined(pieces)

    def interrupt(self) -> None:
        """Reasoning follows: whitespace before it does not indent the text after it."""
        self._catch_up()
        if self._place.is_blank:
            self._place.begin_line()

    def _catch_up(self) -> None:
        """Read the parts that were sent unread: the position after them matters now."""
        if self.unread:
            text = "".join(self.unread)
            self.unread.clear()
            self._scan(text, [], is_refused=False)

    def _read(self, text: str, pieces: list[Piece], *, is_refused: bool = False) -> None:
        """Read text. With `is_refused` no call begins at its first character."""
        while text:
            if self._candidate is None:
                text = (
                    self._go_on_with_run(text, pieces)
                    if self._run
                    else self._scan(text, pieces, is_refused)
                )
                is_refused = False
                continue
            verdict = self._candidate.feed(text)
            if verdict is None:
                return
            self._candidate = None
            text, is_refused = self._judge(verdict, pieces)

    def _judge(self, verdict: CandidateVerdict, pieces: list[Piece]) -> tuple[str, bool]:
        """Process the verdict on a candidate; return the text to continue with, and whether it is
        rejected as a call.
        """
        pieces += verdict.calls
        if verdict.calls:
            self._place.begin_line()
        elif verdict.was_buffered:
            self._failed += 1
        return verdict.text, not verdict.calls

    def _scan(self, text: str, pieces: list[Piece], is_refused: bool) -> str:
        """Advance past text up to where a call can begin; return the text from there."""
        # Only whitespace so far: this is the last moment at which the whole answer can be a call.
        if self._is_first and not text.isspace():
            return self._begin_answer(text, pieces)
        at = 0
        for match in _SIGNS.finditer(text):
            start = match.start()
            sign = match.group()
            self._place.read(text[at:start])
            at = start
            heads = self._heads_at(sign)
            # A text that was rejected as a call begins here again: without this condition, the loop
            # would not end.
            if heads and not (is_refused and start == 0):
                if start:
                    pieces.append(text[:start])
                self._candidate = CallCandidate(heads, self._offers)
                return text[start:]
            if sign == "\n":
                self._place.begin_line()
            elif sign[0] not in "`~":
                continue
            # The next part can continue the run, and three of them mean something else than two.
            elif match.end() == len(text):
                self._run = [sign]
                break
            else:
                self._place.read_run(sign)
            at = match.end()
        # One piece for all text up to here, since each piece becomes a delta.
        if text := text[:at] if self._run else text:
            pieces.append(text)
        if not self._run:
            self._place.read(text[at:])
        return ""

    def _begin_answer(self, text: str, pieces: list[Piece]) -> str:
        """Advance past the whitespace before the first word, if the whole answer can be a call;
        return the rest.
        """
        self._is_first = False
        rest = text.lstrip()
        blank = text[: len(text) - len(rest)]
        if "\n" in blank:
            self._place.begin_line()
        self._place.read(blank.rpartition("\n")[2])
        if blank:
            pieces.append(blank)
        if self._place.begins_line and rest.startswith(_INITIALS):
            self._candidate = CallCandidate(_FIRST, self._offers)
        return rest

    def _heads_at(self, sign: str) -> Sequence[CallHead]:
        """Return how a call can begin with this sign here."""
        if sign[0] in "\n~" or self._failed >= MAX_FAILED:
            return ()
        if self._place.begins_line:
            return self._on_line
        return _MARKED if sign[0] != "`" and self._place.follows_text else ()

    def _go_on_with_run(self, text: str, pieces: list[Piece]) -> str:
        rest = text.lstrip(self._run[0][0])
        self._run.append(text[: len(text) - len(rest)])
        if rest:
            self._end_run(pieces)
        return rest

    def _end_run(self, pieces: list[Piece]) -> None:
        run = "".join(self._run)
        self._run = []
        self._place.read_run(run)
        pieces.append(run)


def _joined(pieces: list[Piece]) -> list[Piece]:
    """Return the pieces with consecutive texts joined: each is a delta that a client receives."""
    joined: list[Piece] = []
    texts: list[str] = []
    for piece in pieces:
        if isinstance(piece, str):
            texts.append(piece)
            continue
        joined += ["".join(texts), piece] if texts else [piece]
        texts = []
    return [*joined, "".join(texts)] if texts else joined
