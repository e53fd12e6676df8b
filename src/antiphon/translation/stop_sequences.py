"""The stop sequences of a request: the text of an answer ends before the first of them.

This server searches them itself, in the text that the client would see. Backends differ too much:
many do not say which sequence they found, some search the reasoning too, and those with a Responses
API have no such parameter.
"""

import re
from collections.abc import Iterable

from msgspec import Struct


class StopSequences:
    """Finds sequences in texts. None of them is empty."""

    def __init__(self, sequences: Iterable[str]) -> None:
        self._by_first: dict[str, list[str]] = {}
        for sequence in dict.fromkeys(sequences):
            self._by_first.setdefault(sequence[0], []).append(sequence)
        self._first = re.compile(f"[{re.escape(''.join(self._by_first))}]")

    def find(self, text: str) -> tuple[str | None, int]:
        """Return the sequence that ends first in a text, and where it begins.

        Of two that end together, the longer one counts. Without one, return None and from where on
        the text can be the beginning of one.
        """
        found: tuple[int, int, str] | None = None
        begin = len(text)
        for match in self._first.finditer(text):
            start = match.start()
            if found is not None and start >= found[0]:
                break
            for sequence in self._by_first[match[0]]:
                end = start + len(sequence)
                if text.startswith(sequence, start):
                    found = min(found or (end, start, sequence), (end, start, sequence))
                elif end > len(text) and start < begin and sequence.startswith(text[start:]):
                    begin = start
        return (None, begin) if found is None else (found[2], found[1])


class StopWatch(Struct):
    """Watches one text as it arrives."""

    sequences: StopSequences
    found: str | None = None
    """The sequence before which the text ended."""
    _retained: str = ""

    def feed(self, text: str) -> str:
        """Return what of the text is certain by now: nothing more once a sequence was found."""
        if self.found is not None:
            return ""
        text = self._retained + text
        self.found, end = self.sequences.find(text)
        self._retained = "" if self.found is not None else text[end:]
        return text[:end]

    def flush(self) -> str:
        """Return what could have been the beginning of a sequence: the text is over."""
        retained = self._retained
        self._retained = ""
        return retained
