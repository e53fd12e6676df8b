"""The names of the package: exactly those that are public, each with a docstring whose example
runs.
"""

import doctest
import inspect
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest

import antiphon
import antiphon.translation

MODULES = (antiphon, antiphon.translation)
NAMES = [
    (module, name) for module in MODULES for name in module.__all__ if not name.startswith("__")
]


def example_of(name: str, module: Any = antiphon) -> doctest.DocTest:
    docstring = inspect.getdoc(getattr(module, name)) or ""
    return doctest.DocTestParser().get_doctest(docstring, {}, name, None, None)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_dir_lists_the_public_names(module: Any) -> None:
    import_module("antiphon.testing")  # a module that is loaded becomes an attribute of the package
    assert dir(module) == sorted(module.__all__)


def test_the_translation_is_not_in_the_root() -> None:
    assert [name for name in antiphon.translation.__all__ if hasattr(antiphon, name)] == []


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_each_name_has_a_docstring_with_an_example_that_runs(module: Any, name: str) -> None:
    example = example_of(name, module)
    assert example.examples
    texts: list[str] = []
    assert doctest.DocTestRunner().run(example, out=texts.append).failed == 0, "".join(texts)


@pytest.mark.wide
@pytest.mark.parametrize("package", ["resources", "sync_resources"])
def test_the_examples_of_methods_run(package: str) -> None:
    home = import_module(f"antiphon.library.{package}")
    modules = [import_module(f"{home.__name__}.{one.name}") for one in iter_modules(home.__path__)]
    results = [doctest.testmod(module) for module in modules]
    assert sum(result.attempted for result in results) > len(modules)
    assert sum(result.failed for result in results) == 0


def test_the_example_of_the_package_runs() -> None:
    package = doctest.DocTestParser().get_doctest(
        antiphon.__doc__ or "", {}, "antiphon", None, None
    )
    assert doctest.DocTestRunner().run(package).failed == 0
    assert package.examples
