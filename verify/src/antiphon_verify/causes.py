"""One fault in a case is one failed requirement: the others that failed because of it are
blocked.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from antiphon_verify.areas import REQUIREMENTS
from antiphon_verify.requirement import Verdict


def with_roots(verdicts: Mapping[str, Verdict]) -> dict[str, Verdict]:
    """Return the verdicts of a case, in which each fault has failed only its root."""
    broken = {name: one for name, one in verdicts.items() if one.outcome == "failed"}
    end = _end(broken)
    roots = {name: end if one.is_end else one.root for name, one in broken.items()}
    return {name: _caused(one, name, roots.get(name, ""), broken) for name, one in verdicts.items()}


def _end(broken: Mapping[str, Verdict]) -> str:
    """Return the requirement that failed because the case could not continue, "" if it could.

    It is a `must` that the last exchange had failed already, or else the first `must` that was
    left.
    """
    ended = [name for name, one in broken.items() if one.is_end]
    if not ended:
        return ""
    last = broken[ended[0]].seen
    before = [name for name, one in broken.items() if not one.is_end and one.seen == last]
    return _first([*before, *ended])


def _first(names: Iterable[str]) -> str:
    return min(
        names, key=lambda name: name not in REQUIREMENTS or REQUIREMENTS[name].level != "must"
    )


def _caused(verdict: Verdict, name: str, root: str, broken: Mapping[str, Verdict]) -> Verdict:
    is_consequence = root != name and root in broken
    return (
        replace(verdict, outcome="blocked", root=root)
        if is_consequence
        else replace(verdict, root="")
    )
