"""Many cheap cases in one test: pytest itself needs longer for an item than most of them take.

`@each` is read like `@pytest.mark.parametrize`. Every case runs, also after one has failed, and the
failure has all.
"""

import functools
import inspect
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.chance import SEED

Ids = Sequence[str] | Callable[[Any], object] | None


def each(
    names: str | Sequence[str], values: Iterable[Any], ids: Ids | Iterable[str] = None
) -> Callable[[Any], Any]:
    """Run a test for each of these values, which have no marks; the fixtures of the test are the
    same for all.
    """
    fields = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    cases = _named(fields, [*values], ids if ids is None or callable(ids) else [*ids])

    def decorate(test: Any) -> Any:
        if inspect.iscoroutinefunction(test):

            async def run(*arguments: Any, **fixtures: Any) -> None:
                findings = Findings()
                for name, provided in cases.items():
                    with findings.of(name):
                        await test(*arguments, **fixtures, **provided)
                findings.conclude(len(cases))

        else:

            def run(*arguments: Any, **fixtures: Any) -> None:  # type: ignore[misc]
                findings = Findings()
                for name, provided in cases.items():
                    with findings.of(name):
                        test(*arguments, **fixtures, **provided)
                findings.conclude(len(cases))

        return _dressed(run, test, fields, len(cases))

    return decorate


class Findings:
    """What became of the cases of one test."""

    def __init__(self) -> None:
        self._failures: list[str] = []
        self._skipped: list[str] = []

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Run a case, by itself: chance begins anew, and a failure is kept for the end."""
        random.seed(SEED)
        try:
            yield
        except pytest.skip.Exception as skipped:
            self._skipped.append(str(skipped))
        except (Exception, pytest.fail.Exception) as failure:
            self._failures.append(f"----- {name}\n{_reported(failure)}")

    def conclude(self, count: int) -> None:
        """Fail with every failure; skip where every case was skipped, or there was none."""
        if self._failures:
            text = "\n".join(self._failures)
            pytest.fail(f"{len(self._failures)} of {count} cases failed:\n{text}", pytrace=False)
        if len(self._skipped) == count:
            pytest.skip(self._skipped[0] if self._skipped else "there are no cases")


def _reported(failure: BaseException) -> str:
    """What pytest prints of a failure; what it prints of a loop in a loop is that loop's own
    text.
    """
    if isinstance(failure, pytest.fail.Exception) and not failure.pytrace:
        return str(failure)
    found = pytest.ExceptionInfo.from_exception(failure)
    found.traceback = found.traceback[2:]  # below `of` and the loop
    return str(found.getrepr(style="short"))


def _named(fields: Sequence[str], values: Sequence[Any], ids: Ids) -> dict[str, dict[str, Any]]:
    """The arguments of each case, by its name."""
    cases: dict[str, dict[str, Any]] = {}
    for number, value in enumerate(values):
        parts = [value] if len(fields) == 1 else value
        name = None
        if isinstance(value, type(pytest.param())):
            if value.marks:
                raise TypeError("a case of a loop has no marks")
            parts = value.values
            name = value.id
        provided = dict(zip(fields, parts, strict=True))
        name = name or _name(number, [*provided.values()], ids)
        cases[name if name not in cases else f"{name}#{number}"] = provided
    return cases


def _name(number: int, values: Sequence[Any], ids: Ids) -> str:
    if callable(ids):
        return "-".join(str(ids(value)) for value in values)
    return str(ids[number]) if ids else "-".join(repr(value)[:60] for value in values)


def _dressed(run: Any, test: Any, fields: Sequence[str], count: int) -> Any:
    """Make pytest see the test without the arguments that the loop gives."""
    functools.update_wrapper(run, test)
    del run.__wrapped__
    signature = inspect.signature(test)
    stored = [parameter for name, parameter in signature.parameters.items() if name not in fields]
    run.__signature__ = signature.replace(parameters=stored)
    run.cases = count * getattr(test, "cases", 1)
    return run
