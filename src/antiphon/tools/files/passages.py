"""Turns the chunks of a search into passages for the model: neighbors joined, up to the available
size.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from antiphon.search.chunking import estimate_tokens
from antiphon.search.contract import ChunkHit
from antiphon.search.passages import fitting, merged

MOST_TOKENS = 16_000
"""Estimated tokens of the passages of one search."""
PART_OF_WINDOW = 3
"""Passages use at most one over this number of the model's window."""


def passages_of(hits: Sequence[ChunkHit], window: int | None) -> tuple[list[ChunkHit], int]:
    """Return the passages of the best hits that fit, best first, and how many chunks were omitted.

    `hits` are sorted best first; `window` is that of the model in tokens, None if unknown.
    """
    most = MOST_TOKENS if window is None else min(MOST_TOKENS, window // PART_OF_WINDOW)
    found = list(_once(hits))
    displayed = fitting(found, most) or [_cut(hit, most) for hit in found[:1]]
    return merged(displayed), len(found) - len(displayed)


def key_of(passage: ChunkHit) -> str:
    """Return the key of a passage's number: a passage at another place has another key."""
    return f"{passage.file_id}#{passage.position}"


def _cut(hit: ChunkHit, most: int) -> ChunkHit:
    """Return the beginning of a chunk that does not fit whole, so that a model with a small window
    reads something.
    """
    text = hit.text
    while text and (tokens := estimate_tokens(text)) > most:
        text = text[: min(len(text) - 1, len(text) * most // tokens)]
    return replace(hit, text=text)


def _once(hits: Iterable[ChunkHit]) -> Iterable[ChunkHit]:
    """Return each chunk once: a file can be in several of the stores."""
    known = set[tuple[str, int]]()
    for hit in hits:
        chunk = hit.file_id, hit.position
        if chunk not in known:
            known.add(chunk)
            yield hit
