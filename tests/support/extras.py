"""Extras of the package as if they were not installed."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from antiphon import extras, packages
from antiphon.protocol import schemas


@contextmanager
def without(*names: str) -> Iterator[None]:
    """Block the modules of these extras until the end of the block, those that were loaded before
    too.
    """
    modules = {**extras.EXTRAS, **extras.FRAMEWORKS}
    blocked = {module for name in names for module in modules[name]}
    stored: dict[str, ModuleType] = {
        module: sys.modules[module] for module in blocked if module in sys.modules
    }
    sys.modules.update(dict.fromkeys(blocked))  # type: ignore[arg-type]
    _forget()
    try:
        yield
    finally:
        for module in blocked:
            sys.modules.pop(module, None)
        sys.modules.update(stored)
        _forget()


def _forget() -> None:
    """Forget what was found out about installed packages."""
    caches = (packages.problem_with, packages.load_module, packages.load_optional)
    for remembered in (*caches, extras.is_installed, schemas._library, schemas._judge):
        remembered.cache_clear()
    extras._logged.clear()
