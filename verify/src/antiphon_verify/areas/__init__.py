"""Every area, a folder for each API: cases, each with the rows of the requirements that it
judges.
"""

from collections.abc import Iterator, Sequence
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from antiphon_verify.case import Case, cases_of
from antiphon_verify.requirement import Requirement

APIS = ("chat", "responses", "messages", "transport")
"""The folders of the areas, in the order of the report."""


def modules_of(package: str) -> list[ModuleType]:
    """Return the modules of every area below a package, API by API, sorted by name."""
    return [
        import_module(f"{folder.__name__}.{found.name}")
        for folder in (import_module(f"{package}.{api}") for api in APIS)
        for found in iter_modules(folder.__path__)
    ]


CASES: tuple[Case, ...] = cases_of(*modules_of(__name__))


def _rows_of(cases: Sequence[Case]) -> Iterator[Requirement]:
    """Yield the rows that cases declare, once each: one that several cases share, after the last of
    them.
    """
    rows = [row for case in cases for row in case.requirements]
    return reversed(dict.fromkeys(reversed(rows)))


REQUIREMENTS: dict[str, Requirement] = {row.id: row for row in _rows_of(CASES)}
"""By id: API by API, the areas sorted by name, each in the order of its cases."""
