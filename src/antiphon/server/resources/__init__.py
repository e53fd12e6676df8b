"""The resources of the API, a module each.

A module has `resources`, which returns its endpoints by path, and `described`, which returns their
rows of `/openapi.json`. `server/application.py` names those that are loaded when a server starts.
Every other module is loaded by the first request for `/v1/` and its name: `files.py` serves
`/v1/files`.
"""

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType


@cache
def names() -> Sequence[str]:
    """Return the names of all modules, in alphabetical order."""
    found = Path(__file__).parent.glob("*.py")
    return sorted(path.stem for path in found if path.stem != "__init__")


def load(name: str) -> ModuleType:
    """Return a module by its name."""
    return import_module(f"{__name__}.{name}")
