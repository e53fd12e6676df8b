"""The files of a folder as modules: a new area is a new file, and stands in no list."""

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

APIS = ("chat", "responses", "transport")
"""The folders of the areas, in the order of the report."""


def areas(package: str) -> list[ModuleType]:
    """Return the modules of every area below a package, API by API, in the order of their names."""
    return [
        import_module(f"{folder.__name__}.{found.name}")
        for folder in (import_module(f"{package}.{api}") for api in APIS)
        for found in iter_modules(folder.__path__)
    ]
