"""Which tests can notice a mutant, the quick ones first: those of its area that run the changed
statement.
"""

import ast
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from mutation.mutants import Mutant
from mutation.tracing import IMPORTED, PassedTest, Trace

K = TypeVar("K")

_STATEMENT_NAME = re.compile(r"^-- (\w+) --$", re.MULTILINE)


class Relevance:
    """Finds tests by what a trace of all of them has shown; `texts` are the traced files and those
    of SQL, by path.
    """

    def __init__(self, texts: Mapping[str, str], traces: Iterable[Trace]) -> None:
        self._texts = texts
        self._tests: list[PassedTest] = []
        self._lines: dict[str, dict[int, set[int]]] = {}
        self._statements: dict[str, set[int]] = {}
        for trace in traces:
            begin = len(self._tests)
            self._tests += trace.tests
            for path, lines in trace.lines.items():
                _add(self._lines.setdefault(path, {}), lines, begin)
            _add(self._statements, trace.statements, begin)

    def of(self, mutant: Mutant, folders: Collection[str]) -> list[PassedTest]:
        """Return the tests in these files and folders that run the changed statement, those on
        PostgreSQL last.
        """
        text = self._texts[mutant.path]
        own = {
            number for number, test in enumerate(self._tests) if self._is_below(test.id, folders)
        }
        found = (
            self._of_code(mutant, text, own)
            if mutant.path.endswith(".py")
            else self._of_sql(mutant, text)
        )
        tests = [self._tests[number] for number in found & own]
        return sorted(tests, key=lambda test: (test.uses_postgres, test.seconds, test.id))

    def _of_code(self, mutant: Mutant, text: str, own: set[int]) -> set[int]:
        """Return the tests that run a statement; those that run anything of the file if none of
        `own` does.

        The latter only if it runs outside of tests: at import, or for a fixture that many of them
        share.
        """
        changed = statement_at(text, text.count("\n", 0, mutant.begin) + 1)
        lines = self._lines.get(mutant.path, {})
        found = set.union(set(), *(tests for line, tests in lines.items() if line in changed))
        return set.union(*lines.values()) if IMPORTED in found and not found & own else found

    def _of_sql(self, mutant: Mutant, text: str) -> set[int]:
        """Return the tests that perform a statement through a function, and those that run a line
        that names it.
        """
        name = _STATEMENT_NAME.findall(text, 0, mutant.begin)[-1]
        found = set(self._statements.get(name, ()))
        for path, tests in self._lines.items():
            for number, line in enumerate(self._texts[path].splitlines(), 1):
                if f'"{name}"' in line:
                    found |= tests.get(number, set())
        return found

    def _is_below(self, test: str, folders: Iterable[str]) -> bool:
        return any(test.startswith((f"{folder}::", f"{folder}/")) for folder in folders)


def _add(mine: dict[K, set[int]], theirs: Mapping[K, Iterable[int]], begin: int) -> None:
    """Add the tests of a trace, the first of which has the number `begin` here."""
    for key, tests in theirs.items():
        mine.setdefault(key, set()).update(
            test if test == IMPORTED else begin + test for test in tests
        )


def statement_at(code: str, line: int) -> range:
    """Return the lines of the innermost statement at a line; of one with a body, the lines of its
    head.
    """
    ranges: Sequence[range] = [
        range(node.lineno, _end_of_head(node))
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.stmt)
    ]
    around = [one for one in ranges if line in one]
    return max(around, key=lambda one: one.start, default=range(line, line + 1))


def _end_of_head(node: ast.stmt) -> int:
    body: list[ast.stmt] = getattr(node, "body", [])
    assert node.end_lineno is not None
    return max(body[0].lineno, node.lineno + 1) if body else node.end_lineno + 1
