"""Which tests can notice a mutant, the quick ones first: those of its area that run the changed statement."""

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from mutation.mutants import Mutant
from mutation.tracing import IMPORTED, PassedTest, Trace

_STATEMENT_NAME = re.compile(r"^-- (\w+) --$", re.MULTILINE)


class Relevance:
    """Finds tests by what a trace of all of them has shown; `root` is the repository."""

    def __init__(self, root: Path, traces: Iterable[Trace]) -> None:
        self._root = root
        self._tests: list[PassedTest] = []
        self._lines: dict[str, dict[int, set[int]]] = {}
        for trace in traces:
            begin = len(self._tests)
            self._tests += trace.tests
            for path, lines in trace.lines.items():
                mine = self._lines.setdefault(path, {})
                for line, tests in lines.items():
                    numbers = {test if test == IMPORTED else begin + test for test in tests}
                    mine.setdefault(line, set()).update(numbers)

    def of(self, mutant: Mutant, folders: Collection[str]) -> list[PassedTest]:
        """Return the tests in these files and folders that run the changed statement, those on PostgreSQL last."""
        found = set.union(set(), *(self._of_lines(path, lines) for path, lines in self._places(mutant)))
        tests = [self._tests[number] for number in found if self._is_below(self._tests[number].id, folders)]
        return sorted(tests, key=lambda test: (test.uses_postgres, test.seconds, test.id))

    def _of_lines(self, path: str, changed: range) -> set[int]:
        """Return the tests that run these lines; of a line that runs at import, those that run anything of the file."""
        lines = self._lines.get(path, {})
        found = set.union(set(), *(tests for line, tests in lines.items() if line in changed))
        if found == {IMPORTED}:
            found = set.union(*lines.values())
        return found - {IMPORTED}

    def _places(self, mutant: Mutant) -> Iterator[tuple[str, range]]:
        text = (self._root / mutant.path).read_text("utf-8")
        if mutant.path.endswith(".py"):
            yield mutant.path, statement_at(text, text.count("\n", 0, mutant.begin) + 1)
            return
        name = _STATEMENT_NAME.findall(text, 0, mutant.begin)[-1]
        for path in self._lines:
            code = (self._root / path).read_text("utf-8")
            for match in re.finditer(rf'"{name}"', code):
                yield path, statement_at(code, code.count("\n", 0, match.start()) + 1)

    def _is_below(self, test: str, folders: Iterable[str]) -> bool:
        return any(test.startswith((f"{folder}::", f"{folder}/")) for folder in folders)


def statement_at(code: str, line: int) -> range:
    """Return the lines of the innermost statement at a line; of one with a body, the lines of its head."""
    ranges: Sequence[range] = [
        range(node.lineno, _end_of_head(node)) for node in ast.walk(ast.parse(code)) if isinstance(node, ast.stmt)
    ]
    around = [one for one in ranges if line in one]
    return max(around, key=lambda one: one.start, default=range(line, line + 1))


def _end_of_head(node: ast.stmt) -> int:
    body: list[ast.stmt] = getattr(node, "body", [])
    assert node.end_lineno is not None
    return max(body[0].lineno, node.lineno + 1) if body else node.end_lineno + 1
