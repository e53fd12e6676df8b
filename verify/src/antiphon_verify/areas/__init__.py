"""Every area, a folder for each API: the requirements of an area, and the cases that judge them."""

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from antiphon_verify.case import Case, cases_of
from antiphon_verify.requirement import Requirement, Table

APIS = ("chat", "responses", "transport")
"""The folders of the areas, in the order of the report."""


def modules_of(package: str) -> list[ModuleType]:
    """Return the modules of every area below a package, API by API, sorted by name."""
    return [
        import_module(f"{folder.__name__}.{found.name}")
        for folder in (import_module(f"{package}.{api}") for api in APIS)
        for found in iter_modules(folder.__path__)
    ]


TABLES: tuple[Table, ...] = tuple(area.TABLE for area in modules_of(__name__))

REQUIREMENTS: dict[str, Requirement] = {requirement.id: requirement for table in TABLES for requirement in table}
"""By id, in the order of the tables."""


CASES: tuple[Case, ...] = cases_of(*modules_of(__name__))
