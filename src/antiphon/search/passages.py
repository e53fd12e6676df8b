"""Hits as a model reads them: neighbors joined, and only as many as fit into the model's window."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from antiphon.search.chunking import estimate_tokens
from antiphon.search.contract import ChunkHit

SHORTEST_OVERLAP = 16
"""Characters that two chunks must share to be joined: fewer can be equal by chance."""

LONGEST_OVERLAP = 16_384
"""Maximum characters of a detected overlap: half of the largest chunk."""


def merged(hits: Sequence[ChunkHit]) -> list[ChunkHit]:
    """Return the hits with overlapping neighbors of one file joined, so that no text is repeated.

    A joined hit has the rank and the score of the best of its chunks, and the position of the
    first.
    """
    runs = [run for group in _by_file(hits) for run in _runs(group)]
    rank = {id(hit): place for place, hit in enumerate(hits)}
    joined = [(min(rank[id(hit)] for hit in run), _joined(run)) for run in runs]
    return [hit for _, hit in sorted(joined, key=lambda one: one[0])]


def fitting(hits: Sequence[ChunkHit], most_tokens: int) -> list[ChunkHit]:
    """Return the first hits that together have at most this many estimated tokens."""
    stored: list[ChunkHit] = []
    for hit in hits:
        most_tokens -= estimate_tokens(hit.text)
        if most_tokens < 0:
            break
        stored.append(hit)
    return stored


def _by_file(hits: Sequence[ChunkHit]) -> list[list[ChunkHit]]:
    groups: dict[tuple[str, str], list[ChunkHit]] = {}
    for hit in hits:
        groups.setdefault((hit.store_id, hit.file_id), []).append(hit)
    return [sorted(group, key=lambda hit: hit.position) for group in groups.values()]


def _runs(hits: Sequence[ChunkHit]) -> list[list[ChunkHit]]:
    """Split hits of one file, in order, into runs of overlapping neighbors."""
    runs: list[list[ChunkHit]] = []
    for hit in hits:
        if (
            runs
            and runs[-1][-1].position + 1 == hit.position
            and _overlap(runs[-1][-1].text, hit.text)
        ):
            runs[-1].append(hit)
        else:
            runs.append([hit])
    return runs


def _joined(run: Sequence[ChunkHit]) -> ChunkHit:
    text = run[0].text
    for before, hit in pairwise(run):
        text += hit.text[_overlap(before.text, hit.text) :]
    return replace(run[0], text=text, score=max(hit.score for hit in run))


def _overlap(before: str, behind: str) -> int:
    """Return how many characters at the end of one text begin the other; 0 for too few to be an
    overlap.
    """
    end = before[-LONGEST_OVERLAP:]
    start = 0
    head = behind[:SHORTEST_OVERLAP]
    while len(head) == SHORTEST_OVERLAP and (start := end.find(head, start)) >= 0:
        if behind.startswith(end[start:]):
            return len(end) - start
        start += 1
    return 0
