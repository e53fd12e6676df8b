"""Loads modules on first use, and says which package is at fault where one cannot be loaded.

That a package is installed proves little: another version can lack a name, and a shared library can
be missing.
"""

import errno
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from traceback import walk_tb
from types import ModuleType

from antiphon.errors import ClientError, ConfigError, log

_PASSING = tuple(map(os.strerror, (errno.EMFILE, errno.ENFILE, errno.ENOMEM)))
"""Reasons that end without a change to a package."""

_OF_A_CLONE = {"antiphon_verify": "pip install --force-reinstall ./verify"}
"""A module of a package that is in no index, where a stranger could own its name -> how a clone
installs it.
"""

_NO_PACKAGE = sys.stdlib_module_names | {"antiphon", "__main__"}


class BrokenPackageError(ClientError):
    """A module cannot be loaded.

    The client learns that a feature is not available, the log which package fails.
    """

    def __init__(self) -> None:
        super().__init__(
            "A feature that this request uses is not available on this server.",
            code="unsupported_value",
        )


@cache
def load_module(name: str) -> ModuleType:
    """Return a module. Raises `BrokenPackageError` if it cannot be loaded; the first time, the log
    has the reason.
    """
    if problem := problem_with(name):
        _log_once(problem)
        raise BrokenPackageError
    return import_module(name)


def require_module(name: str, what: str) -> ModuleType:
    """Return a module that `what`, a setting or a command, needs.

    Raises `ConfigError` if it cannot be loaded.
    """
    if problem := problem_with(name):
        raise ConfigError(f"{what} needs a package that does not work. {problem}")
    return import_module(name)


@cache
def load_optional(name: str) -> ModuleType | None:
    """Return the module of a package that need not be there, else None; a package that fails is
    logged, once.
    """
    if not is_there(name):
        return None
    try:
        return load_module(name)
    except BrokenPackageError:
        return None


def is_there(module: str) -> bool:
    """Whether a module is installed; it is not loaded, only the packages around it."""
    try:
        return find_spec(module) is not None
    except ValueError:
        return False
    except Exception as error:  # these packages are missing, or they are there and broken
        is_missing = isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(
            f"{error.name}."
        )
        return not is_missing


@cache
def problem_with(name: str) -> str:
    """Load a module; return why that fails, with the package, its version and what to do; empty if
    it succeeds.

    The answer is remembered. A lack of memory or file descriptors is raised instead: no package is
    at fault.
    """
    try:
        import_module(name)
    except Exception as error:  # a module can raise anything while it is loaded
        if isinstance(error, MemoryError) or any(reason in str(error) for reason in _PASSING):
            raise
        return _explained(error, name)
    return ""


def described(module: str) -> str:
    """Return the package that a module belongs to, with its version, such as `websockets 17.4`."""
    package, number = _package_of(module)
    return f"{package} {number}" if package else module.partition(".")[0]


@cache
def _log_once(problem: str) -> None:
    log.error("%s", problem)


def _explained(error: Exception, module: str) -> str:
    reason = str(error) or type(error).__name__
    if not isinstance(error, ImportError):
        reason = f"{type(error).__name__}: {reason}"
    at_fault = next(iter([*_blamed(error)][::-1]), module)
    if remedy := _OF_A_CLONE.get(at_fault.partition(".")[0]):
        return (
            f"{described(at_fault)} cannot be loaded: {reason}. Reinstall it in a clone of "
            f"Antiphon: {remedy}"
        )
    package, number = _package_of(at_fault)
    if not package:
        return f"{at_fault.partition('.')[0]} cannot be loaded: {reason}. Install it."
    return (
        f"{package} {number} cannot be loaded: {reason}. "
        f"Reinstall it (pip install --force-reinstall {package}), or install an older version (pip "
        f"install '{package}<{number.partition('+')[0]}')."
    )


def _blamed(error: Exception) -> Iterator[str]:
    """Yield the modules of packages that an error points to, the most likely one last."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        yield error.name
    names = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    if isinstance(error, ImportError) and not isinstance(error, ModuleNotFoundError):
        names.append(error.name or "")
    elif isinstance(error, AttributeError) and isinstance(error.obj, ModuleType):
        names.append(error.obj.__name__)
    elif isinstance(error, SyntaxError):
        names.append(_module_at(error.filename or ""))
    yield from (name for name in names if name and name.partition(".")[0] not in _NO_PACKAGE)


def _module_at(filename: str) -> str:
    """Return the module of a file; empty for a file outside the path of imports."""
    path = Path(filename).with_suffix("")
    found = [
        path.relative_to(folder).parts
        for folder in filter(None, sys.path)
        if path.is_relative_to(folder)
    ]
    shortest = sorted(found, key=len)[:1]  # folders of imports can contain each other
    return ".".join(*shortest) if shortest else ""


@lru_cache(maxsize=1)
def _distributions(path: tuple[str, ...]) -> Mapping[str, Sequence[str]]:
    """Return the distributions of each module on this path of imports.

    Reading them takes a tenth of a second.
    """
    from importlib.metadata import packages_distributions  # noqa: PLC0415 - with zip files and mail

    return packages_distributions()


def _package_of(module: str) -> tuple[str, str]:
    """Return the distribution of a module and its version; empty if none has it.

    Several can share the first name.
    """
    from importlib.metadata import version  # noqa: PLC0415 - with zip files and mail

    found = _distributions(tuple(sys.path)).get(module.partition(".")[0], ())
    best = max(
        found,
        key=lambda one: (f"{module}.".startswith(f"{one.replace('-', '.')}."), len(one)),
        default="",
    )
    return best, version(best) if best else ""
