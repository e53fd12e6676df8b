"""The extensions of the documentation, and its checks, as modules."""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


def load(name: str) -> ModuleType:
    """Return a module of `docs/_ext` or `scripts`."""
    for folder in ("docs/_ext", "scripts"):
        if (ROOT / folder / f"{name}.py").exists():
            sys.path.insert(0, str(ROOT / folder))
            try:
                return import_module(name)
            finally:
                sys.path.remove(str(ROOT / folder))
    raise ModuleNotFoundError(name)
