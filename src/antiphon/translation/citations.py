"""Citations: where a streamed text cites the sources that the model received (specification section
5, Annotation).

Theory of operation.

A model cites by a Markdown link, with or without parentheses around it, by a bare URL, by the
number of a source, `[3]`, `[3, 5]`, `【3】`, or by the id of a file, `<|file-abc|>`. Code contains no
citations.

A scanner moves through the text from mark to mark (`citation_marks.py`), in one of three modes:

    prose ── ``` or ~~~ at the beginning of a line ──> code block ── a line with the same fence ──> prose
    prose ── http:// or https:// ──> URL (`cited_urls.py`) ── a character that ends it ──> prose

In prose, a stack of frames has the constructs that are open: the text of a link after `[`, numbers
after `【`, the destination of a link after `](`, a code span after backquotes. Only the end of a
construct shows what it was: the text of a link can contain a number, a code span can contain a
link. So what is found inside a frame is held by it:

- The construct succeeds (a link to a source, a code span): what it holds is part of it, and is
  dropped.
- It comes to nothing (another destination, no closing bracket): what it holds counts for the
  enclosing frame, and outside of all frames it is a citation.

Two decisions need one character more: whether `(` follows `]`, so that there is a link (`_label`),
and whether `)` follows a link behind `(`, so that the parentheses belong to the citation (`_link`).

The end of a line ends destinations, an empty line ends every construct, a fence too. `LONGEST` and
`DEEPEST` bound what can be open: a text with many unclosed brackets costs neither memory nor time
for each of them.

What holds always:

- Positions count characters from the beginning of the part, in the text of the model.
  `cited_text.py` converts them to positions in the text that the client receives, from which the
  marks of files are cut.
- The annotations do not depend on how the text is split. While more text can follow, an incomplete
  mark at its end is not scanned (the patterns with `CUT`); `finish` scans it.
- Citations come in the order of the text. One that names several sources becomes several
  annotations.
- Only the text since the outermost open construct is kept, at most about `LONGEST` characters, and
  one before it, which can be a parenthesis.
"""  # noqa: E501 - a table, a diagram or an example

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from antiphon.protocol.sources import CitedFile, Source, Sources
from antiphon.translation.citation_marks import (
    CLOSED_BY,
    DEEPEST,
    FENCE_MARK,
    FENCE_MARK_OR_CUT,
    FILE_MARK,
    LINE_BEGIN,
    LINK,
    LONGEST,
    LONGEST_NUMBERS,
    MARK,
    MARK_OR_CUT,
    NUMBERS,
    NUMBERS_BEGIN,
    FoundCitation,
    Frame,
)
from antiphon.translation.cited_urls import URL_END, cited_urls, normal_url


class Citations:
    """The citations of one `output_text` part.

    Its text can be split anywhere; each part has its own instance.
    """

    def __init__(self, sources: Sources) -> None:
        """`sources` are the citable sources; a number in the text is a position in this order."""
        self._sources = dict(sources)
        self._text = ""
        self._offset = 0
        self._at = 0
        self._frames: list[Frame] = []
        self._done: list[FoundCitation] = []
        self._is_line_blank = True
        self._fence = ""
        self._is_info = False
        self._may_close = False
        self._url: int | None = None
        self._url_depth = 0
        self._label: Frame | None = None
        self._link: FoundCitation | None = None

    def feed(self, delta: str) -> Sequence[dict[str, Any]]:
        """Return the annotations that this text completed; their indexes count from the beginning
        of the part.
        """
        return [
            one
            for found in self.find(delta)
            for one in self.annotations(found, found.start, found.end)
        ]

    def finish(self) -> Sequence[dict[str, Any]]:
        """Return the annotations that only the end of the text completed."""
        return [
            one
            for found in self.find_rest()
            for one in self.annotations(found, found.start, found.end)
        ]

    def find(self, delta: str) -> Sequence[FoundCitation]:
        """Return the citations that this text completed, in its order; positions count from its
        beginning.
        """
        if not self._sources:
            return ()
        self._text += delta
        self._scan(MARK_OR_CUT, FENCE_MARK_OR_CUT)
        self._forget()
        return self._taken()

    def find_rest(self) -> Sequence[FoundCitation]:
        """Return the citations that only the end of the text completed."""
        if not self._sources:
            return ()
        self._scan(MARK, FENCE_MARK)
        if self._url is not None:
            self._end_url()
        self._settle("")
        self._release(len(self._frames))
        return self._taken()

    def is_mark(self, found: FoundCitation) -> bool:
        """Whether only files are cited: their marks are removed from the text."""
        return all(isinstance(self._known[number][1], CitedFile) for number in found.sources)

    def _cites_a_file(self, found: FoundCitation) -> bool:
        return any(isinstance(self._known[number][1], CitedFile) for number in found.sources)

    def annotations(self, found: FoundCitation, start: int, end: int) -> Iterator[dict[str, Any]]:
        """Yield the annotations of a citation at this position in the text that the client
        receives.
        """
        for number in found.sources:
            url, source = self._known[number]
            if isinstance(source, CitedFile):
                file = {"file_id": source.file_id, "filename": source.filename}
                yield {"type": "file_citation", **file, "index": end}
            elif source is not None:
                page = {"url": url, "title": source or url}
                yield {"type": "url_citation", **page, "start_index": start, "end_index": end}

    @property
    def undecided(self) -> int:
        """The position of the first file mark that is incomplete or undecided; otherwise the end of
        the text.
        """
        end = self._offset + len(self._text)
        begins = [frame.start for frame in self._frames if self._may_be_numbers(frame, end)]
        frames = (*self._frames, self._label) if self._label else self._frames
        begins += [
            one.start for frame in frames for one in frame.retained if self._cites_a_file(one)
        ]
        if not self._fence and self._text.startswith("<", self._at):
            begins.append(self._offset + self._at)
        return min(begins, default=end)

    def _may_be_numbers(self, frame: Frame, end: int) -> bool:
        begin = NUMBERS_BEGIN.get(frame.kind)
        if begin is None or end - frame.inner > LONGEST_NUMBERS:
            return False
        return begin.fullmatch(self._between(frame.inner, end)) is not None

    def _taken(self) -> Sequence[FoundCitation]:
        done = self._done
        self._done = []
        return done

    @cached_property
    def _known(self) -> list[tuple[str, Source]]:
        return list(self._sources.items())

    @cached_property
    def _numbers(self) -> dict[str, int]:
        pages = [
            (number, url)
            for number, (url, source) in enumerate(self._known)
            if isinstance(source, str)
        ]
        return {normal_url(url): number for number, url in reversed(pages)}

    @cached_property
    def _files(self) -> dict[str, int]:
        files = [
            (number, one.file_id)
            for number, (_, one) in enumerate(self._known)
            if isinstance(one, CitedFile)
        ]
        return {file_id: number for number, file_id in reversed(files)}

    def _scan(self, marks: re.Pattern[str], fence_marks: re.Pattern[str]) -> None:
        """Scan all of the text, except an end that these marks show to be incomplete."""
        is_whole = True
        while is_whole and self._at < len(self._text):
            self._settle(self._text[self._at])
            if self._fence:
                is_whole = self._scan_code(fence_marks)
            elif self._url is not None:
                self._scan_url()
            else:
                is_whole = self._scan_prose(marks)

    def _scan_prose(self, marks: re.Pattern[str]) -> bool:
        mark = marks.search(self._text, self._at)
        self._pass(mark.start() if mark else len(self._text))
        if mark is None or mark.lastgroup:
            return False
        place = self._offset + self._at
        self._at = mark.end()
        self._expire(place)
        self._meet(mark[0], place)
        return True

    def _pass(self, end: int) -> None:
        if end > self._at:
            self._is_line_blank = self._is_line_blank and not self._text[self._at : end].strip(
                LINE_BEGIN
            )
            self._at = end

    def _meet(self, mark: str, place: int) -> None:
        is_first = self._is_line_blank
        self._is_line_blank = mark == "\n"
        if mark == "\n":
            self._end_line(is_blank=is_first)
        elif mark[0] in "`~":
            self._meet_code(mark, place, is_first)
        elif mark[0] == "h":
            self._url = place
            self._url_depth = 0
        elif file := FILE_MARK.fullmatch(mark):
            self._save(
                [FoundCitation(place, place + len(mark), (self._files[file[1]],))]
                if file[1] in self._files
                else ()
            )
        elif mark in "[【":
            self._open(Frame("[" if mark == "[" else "【", place, place + 1))
        elif mark in "]】":
            self._close_label(CLOSED_BY[mark], place)
        elif mark == "(":
            self._open_parenthesis()
        elif mark == ")":
            self._close_parenthesis(place)

    def _open(self, frame: Frame) -> None:
        self._frames.append(frame)
        if len(self._frames) > DEEPEST:
            self._release(1)

    def _end_line(self, *, is_blank: bool) -> None:
        """A destination ends with its line, and every construct ends with its paragraph."""
        if is_blank:
            self._release(len(self._frames))
        while self._frames and self._frames[-1].kind == "(":
            self._drop(self._frames[-1])

    def _meet_code(self, mark: str, place: int, is_first: bool) -> None:
        if is_first and len(mark) > 2:
            self._release(len(self._frames))
            self._fence = mark
            self._is_info = True
            self._may_close = False
        elif mark[0] == "`":
            span = next(
                (one for one in self._frames if one.kind == "`" and one.depth == len(mark)), None
            )
            if span:
                del self._frames[self._frames.index(span) :]
            else:
                self._open(Frame("`", place, place + len(mark), depth=len(mark)))

    def _scan_code(self, marks: re.Pattern[str]) -> bool:
        """A code block ends with a line that consists of its fence, or of a longer one."""
        mark = marks.search(self._text, self._at)
        self._pass(mark.start() if mark else len(self._text))
        self._may_close = self._may_close and self._is_line_blank
        if mark is None or mark.lastgroup:
            return False
        self._at = mark.end()
        if mark[0] == "\n":
            self._fence = "" if self._may_close else self._fence
            self._may_close = self._is_info = False
            self._is_line_blank = True
        elif self._is_info and mark[0][0] == self._fence[0] == "`":
            # The name of a language has no backquote, so this was a span.
            self._fence = ""
        else:
            self._may_close = self._is_line_blank = self._is_line_blank and mark[0].startswith(
                self._fence
            )
        return True

    def _close_label(self, opened: str, place: int) -> None:
        frame = next(
            (one for one in reversed(self._frames) if one.kind in (opened, "`", "(")), None
        )
        if frame is None or frame.kind != opened:
            return
        while self._frames[-1] is not frame:
            self._drop(self._frames[-1])
        self._frames.pop()
        numbered = self._numbered(frame, place)
        if opened == "【":
            self._save(numbered or frame.retained)
            return
        frame.retained = numbered or frame.retained
        frame.inner = place + 1
        self._label = frame

    def _numbered(self, frame: Frame, place: int) -> list[FoundCitation]:
        if place - frame.inner > LONGEST_NUMBERS:
            return []
        inside = self._between(frame.inner, place)
        if not NUMBERS[frame.kind].fullmatch(inside):
            return []
        numbers = [int(each) - 1 for each in re.findall(r"\d+", inside.partition("†")[0])]
        sources = tuple(
            dict.fromkeys(number for number in numbers if 0 <= number < len(self._sources))
        )
        return [FoundCitation(frame.start, place + 1, sources)] if sources else []

    def _open_parenthesis(self) -> None:
        label = self._label
        self._label = None
        if label:
            self._open(Frame("(", label.start, label.inner + 1, label.retained))
        elif self._frames and self._frames[-1].kind == "(":
            self._frames[-1].depth += 1

    def _close_parenthesis(self, place: int) -> None:
        if not self._frames or self._frames[-1].kind != "(":
            return
        frame = self._frames[-1]
        if frame.depth:
            frame.depth -= 1
            return
        link = LINK.fullmatch(self._between(frame.inner, place))
        number = self._number_of(link[1]) if link else None
        if number is None:
            self._drop(frame)
            return
        self._frames.pop()
        found = FoundCitation(frame.start, place + 1, (number,))
        if self._before(frame.start) == "(":
            self._link = found
        else:
            self._save([found])

    def _settle(self, following: str) -> None:
        """Decide what only the next character shows: whether a link follows a text, a parenthesis a
        link.
        """
        if self._link:
            found = self._link
            self._link = None
            is_wrapped = following == ")"
            self._save(
                [
                    FoundCitation(found.start - 1, found.end + 1, found.sources)
                    if is_wrapped
                    else found
                ]
            )
        if self._label and following != "(":
            label = self._label
            self._label = None
            self._save(label.retained)

    def _scan_url(self) -> None:
        stop = URL_END.search(self._text, self._at)
        self._at = stop.start() if stop else len(self._text)
        if stop is None:
            return
        if stop[0] == "(":
            self._url_depth += 1
        elif stop[0] == ")" and self._url_depth:
            self._url_depth -= 1
        else:
            self._end_url()
            return
        # It is part of the URL, and of the destination that the URL can be.
        self._at += 1
        self._meet(stop[0], self._offset + stop.start())

    def _end_url(self) -> None:
        start = self._url
        self._url = None
        end = self._offset + self._at
        if start is None or end - start > LONGEST:
            return
        for url in cited_urls(self._between(start, end), self._number_of):
            self._save([FoundCitation(start + url.start, start + url.end, (url.number,))])

    def _number_of(self, url: str) -> int | None:
        return self._numbers.get(normal_url(url))

    def _save(self, found: Sequence[FoundCitation]) -> None:
        (self._frames[-1].retained if self._frames else self._done).extend(found)

    def _drop(self, frame: Frame) -> None:
        """The innermost frame came to nothing: its citations count for the enclosing frame."""
        self._frames.remove(frame)
        self._save(frame.retained)

    def _release(self, count: int) -> None:
        """This number of the outermost frames came to nothing."""
        for frame in self._frames[:count]:
            self._done.extend(frame.retained)
        del self._frames[:count]

    def _expire(self, place: int) -> None:
        while self._frames and place - self._frames[0].start > LONGEST:
            self._release(1)

    def _forget(self) -> None:
        """Drop the text in which no citation can begin; one character is kept, because it can be a
        parenthesis.
        """
        self._expire(self._offset + self._at)
        here = self._offset + self._at
        open_since = [
            frame.start for frame in (*self._frames[:1], *([self._label] if self._label else []))
        ]
        if self._url is not None and here - self._url <= LONGEST:
            open_since.append(self._url)
        cut = max(0, min(open_since, default=here) - self._offset - 1)
        if cut:
            self._text = self._text[cut:]
            self._offset = self._offset + cut
            self._at = self._at - cut

    def _between(self, start: int, end: int) -> str:
        return self._text[start - self._offset : end - self._offset]

    def _before(self, place: int) -> str:
        return self._text[place - self._offset - 1] if place > self._offset else ""
