"""The names of the package: exactly those that are public, each with a docstring whose example runs."""

import doctest
import inspect
from importlib import import_module

import pytest

import antiphon

NAMES = [name for name in antiphon.__all__ if not name.startswith("__")]


def example_of(name: str) -> doctest.DocTest:
    docstring = inspect.getdoc(getattr(antiphon, name)) or ""
    return doctest.DocTestParser().get_doctest(docstring, {}, name, None, None)


def test_dir_lists_the_public_names() -> None:
    import_module("antiphon.testing")  # a module that is loaded becomes an attribute of the package
    assert dir(antiphon) == sorted(antiphon.__all__)


@pytest.mark.parametrize("name", NAMES)
def test_each_name_has_a_docstring_with_an_example_that_runs(name: str) -> None:
    example = example_of(name)
    assert example.examples
    said: list[str] = []
    assert doctest.DocTestRunner().run(example, out=said.append).failed == 0, "".join(said)


@pytest.mark.wide
@pytest.mark.parametrize("module", ["async_client", "sync_client"])
def test_the_examples_of_methods_run(module: str) -> None:
    result = doctest.testmod(import_module(f"antiphon.library.{module}"))
    assert result.attempted > len(example_of("Antiphon").examples)
    assert result.failed == 0


def test_the_example_of_the_package_runs() -> None:
    package = doctest.DocTestParser().get_doctest(antiphon.__doc__ or "", {}, "antiphon", None, None)
    assert doctest.DocTestRunner().run(package).failed == 0
    assert package.examples
