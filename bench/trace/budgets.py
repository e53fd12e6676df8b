"""How many Python calls each path may cost. `tests/system/test_call_budgets.py` enforces them.

Lower one when it got cheaper.

Counted with CPython 3.11 and the versions of constraints.txt. A newer Python inlines comprehensions and counts fewer.
"""

TOLERANCE = 1.02
"""A count may be so many times its budget."""

BUDGETS: dict[str, float] = {
    "plain": 171,
    "stored": 207,
    "streamed, 256 deltas in few reads": 283,
    "streamed, 256 deltas one by one": 5139,
    "lone delta": 19,
    "background: create, poll, replay": 861,
    "facts of a plain response": 15,
    "facts of a stored response": 15,
    "facts of a streamed response": 15,
    "files of ours in a plain request": 30,
    "files of ours in a lone delta": 8,
}
"""By the name of the figure, as `make trace` prints it."""


def is_within(name: str, count: float) -> bool:
    """Return whether a count is within its budget."""
    return count <= BUDGETS[name] * TOLERANCE
