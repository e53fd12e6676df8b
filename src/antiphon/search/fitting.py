"""Fits texts into the calls of an embedding server, of which neither the largest batch nor the
longest text is known.

Servers spell a refusal in many ways, so only the fact counts: a refused batch is halved, and a
single text that is refused is split. What worked afterwards is learned, and holds for the next
texts from the start.

    take() ──> send ──> accepted(vectors) | refused() ──> take() … until it returns nothing
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from antiphon.search.chunking import estimate_tokens, pieces_of

MOST_CHARACTERS = 128 * 1024
"""Characters of one call, unless it is a single text."""

FEWEST_TOKENS = 4
"""Estimated tokens of the shortest part of a text that is tried: a server that refuses it refuses
everything.
"""


@dataclass(frozen=True, slots=True)
class EmbeddingLimits:
    """What one call can have: texts, and estimated tokens of each of them (None if no limit is
    known).
    """

    texts: int
    tokens: int | None = None

    def both(self, other: "EmbeddingLimits") -> "EmbeddingLimits":
        """Return the limits of calls that either of two servers accepts."""
        known = [one.tokens for one in (self, other) if one.tokens is not None]
        return EmbeddingLimits(min(self.texts, other.texts), min(known, default=None))


@dataclass(frozen=True, slots=True)
class EmbeddedPart:
    """A text, or a part of one that is too long for the server, with its vector in 16-bit
    floats.
    """

    text: str
    vector: bytes


class Fitting:
    """Texts on their way to vectors.

    `parts` has those of each text, in order; blank parts are omitted.

    `limits` are those that worked: the given ones, or smaller ones that were learned.
    """

    def __init__(self, texts: Sequence[str], limits: EmbeddingLimits) -> None:
        self.parts: list[list[EmbeddedPart]] = [[] for _ in texts]
        self.limits = limits
        self._waiting = deque(enumerate(texts))
        self._sent: list[tuple[int, str]] = []
        self._size = limits.texts
        """Texts of the next call: fewer than the limit while it is unclear why a call was
        refused.
        """
        self._accepted = 1
        """Texts of the largest call that was accepted."""
        self._suspected = 0
        """Texts of a refused batch that are not embedded yet: if none of them is too long, the
        batch was too large.
        """
        self._tokens = limits.tokens
        """The length that is tried."""

    def take(self) -> Sequence[str]:
        """Return the texts of the next call; none at the end."""
        batch: list[tuple[int, str]] = []
        size = 0
        while self._waiting and len(batch) < self._size:
            place, text = self._waiting[0]
            if self._tokens is not None and estimate_tokens(text) > self._tokens:
                self._waiting.popleft()
                self._waiting.extendleft(
                    (place, part) for part in reversed(pieces_of(text, self._tokens))
                )
                continue
            size += len(text)
            if batch and size > MOST_CHARACTERS:
                break
            batch.append(self._waiting.popleft())
        self._sent = batch
        return [text for _, text in batch]

    def accepted(self, vectors: Sequence[bytes]) -> None:
        """The server returned a vector for each text of the call."""
        for (place, text), vector in zip(self._sent, vectors, strict=True):
            self.parts[place].append(EmbeddedPart(text, vector))
        self._accepted = max(self._accepted, len(self._sent))
        texts = self.limits.texts
        if self._suspected:
            self._suspected = max(0, self._suspected - len(self._sent))
            texts = texts if self._suspected else self._size
        elif self._size < texts:
            self._size = min(texts, 2 * self._size)
        self.limits = EmbeddingLimits(texts, self._tokens)

    def refused(self) -> bool:
        """The server refused the call. Return whether a smaller one can be tried."""
        if len(self._sent) > 1:
            self._suspected = self._suspected or len(self._sent)
            self._size = len(self._sent) // 2
        else:
            tokens = estimate_tokens(self._sent[0][1])
            if tokens < 2 * FEWEST_TOKENS:
                return False
            self._tokens = tokens // 2
            self._suspected = 0
            self._size = self._accepted
        self._waiting.extendleft(reversed(self._sent))
        return True
