"""The format of terms in the keyword index of a database: each begins with the number of its store.

So the index entry of a term has only chunks of one store. A search costs what its own store costs,
and neither its counts nor its scores depend on the stores of others.
"""

from collections.abc import Iterable, Mapping

MARKS = (("", 1.0), ("+2", 0.375), ("+4", 0.317))
"""In PostgreSQL a term that occurs twice or four times has an extra lexeme. Their weights sum to
BM25's saturation.
"""


def prefixed(store: int, term: str) -> str:
    """Return a term with the prefix of its store. The hexadecimal digits end at the `z`."""
    return f"{store:x}z{term}"


def indexed(store: int, terms: Iterable[str]) -> str:
    """Return the terms of a chunk in the format of the index, separated by spaces."""
    begin = f"{store:x}z"
    return " ".join([begin + term for term in terms])


def expression(store: int, terms: Iterable[str]) -> str:
    """Return the expression of FTS5 that finds chunks with any of the terms."""
    return " OR ".join(f'"{prefixed(store, term)}"' for term in terms)


def lexemes(store: int, weights: Mapping[str, float]) -> list[dict[str, str | float]]:
    """Return the lexemes of PostgreSQL with their weights: the weight of a term by how often it
    occurs.
    """
    return [
        {"lexeme": prefixed(store, term) + mark, "weight": weight * share}
        for term, weight in weights.items()
        for mark, share in MARKS
    ]
