"""Reads the code of the tests, for the rules of `tests/unit/test_tests.py`. Nothing is imported or
run.

All files are searched as text, and only those in which something is found are parsed: parsing all
takes five seconds.
"""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ("src", "verify/src")
LONG = 40
"""Characters from which on a literal is read as a sentence, if it has a space."""
SAME = 30
"""Characters that a literal of the tests and a text of the source have in common, from the start of
a word on, if it is a copy.
"""

NAMED_TUPLE = {"_asdict", "_fields", "_make", "_replace"}
PATCHING = {"setattr", "delattr", "getattr", "hasattr"}

PRIVATE = re.compile(
    r"""(?<!self)(?<!cls)\._[a-z]|attr\([^)]*["'.]_[a-z]\w*["']|import [^\n]*\b_[a-z]"""
)
SLEEP = re.compile(r"\bsleep\b")
TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*)"' + r"|'((?:[^'\\\n]|\\.)*)'")
WORD = re.compile(r"\b\w")


@dataclass(frozen=True, slots=True)
class Found:
    """A place in the tests, by its path below `tests`, and what stands there."""

    file: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"tests/{self.file}:{self.line}: {self.what}"


def private_uses() -> list[Found]:
    """Each use of a private name of another object or module: read, patched by its name, or
    imported.
    """
    return _found(lambda code: PRIVATE.search(code) is not None, _private)


def sleeps() -> list[Found]:
    """Each call of `asyncio.sleep` and `time.sleep`, and each import of one."""
    return _found(lambda code: SLEEP.search(code) is not None, _sleep)


def copied_sentences() -> list[Found]:
    """Each long literal of an assertion that repeats a text of the source, or a piece of an
    f-string there.

    The replies of other servers, which the conformance checker has written down, are no messages of
    the code.
    """
    files = [
        file
        for source in SOURCES
        for file in (ROOT / source).rglob("*.py")
        if "replies" not in file.parts
    ]
    rows = {row for file in files for text in _texts(file.read_text()) for row in _rows(text)}

    def is_copied(text: str) -> bool:
        return len(text) >= LONG and " " in text and not rows.isdisjoint(_rows(text))

    def copied(node: ast.AST) -> Iterator[tuple[int, str]]:
        return (
            (literal.lineno, text)
            for literal in _asserted(node)
            if is_copied(text := str(literal.value))
        )

    return list(dict.fromkeys(_found(lambda code: any(map(is_copied, _texts(code))), copied)))


def _found(
    may_have: Callable[[str], bool], uses: Callable[[ast.AST], Iterator[tuple[int, str]]]
) -> list[Found]:
    folder = ROOT / "tests"
    found = []
    for file in sorted(folder.rglob("*.py")):
        code = file.read_text()
        if may_have(code):
            name = file.relative_to(folder).as_posix()
            found += [Found(name, *use) for node in ast.walk(ast.parse(code)) for use in uses(node)]
    return found


def _private(node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.Attribute) and not _is_own(node.value) and node.attr not in NAMED_TUPLE:
        names = [node.attr]
    elif isinstance(node, ast.ImportFrom):
        names = [*(node.module or "").split("."), *(one.name for one in node.names)]
    elif isinstance(node, ast.Call) and _called(node) in PATCHING:
        names = [
            str(one.value).split(".")[-1] for one in node.args if isinstance(one, ast.Constant)
        ]
    else:
        return
    for name in names:
        if name.startswith("_") and not name.startswith("__"):
            yield node.lineno, name


def _is_own(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id in {"self", "cls"}


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _sleep(node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.Call) and (name := ast.unparse(node.func)) in {
        "asyncio.sleep",
        "time.sleep",
    }:
        yield node.lineno, name
    elif isinstance(node, ast.ImportFrom) and node.module in {"asyncio", "time"}:
        yield from ((node.lineno, one.name) for one in node.names if one.name == "sleep")


def _asserted(node: ast.AST) -> list[ast.Constant]:
    """The texts of an `assert`, and of a `pytest.raises`."""
    if not isinstance(node, ast.Assert) and not (
        isinstance(node, ast.Call) and _called(node) == "raises"
    ):
        return []
    return [
        one
        for one in ast.walk(node)
        if isinstance(one, ast.Constant) and isinstance(one.value, str)
    ]


def _texts(code: str) -> Iterator[str]:
    """The literals of one line each; of an f-string, with its braces."""
    return (double or single for double, single in TEXT.findall(code))


def _rows(text: str) -> set[str]:
    starts = (word.start() for word in WORD.finditer(text))
    return {text[start : start + SAME] for start in starts if start + SAME <= len(text)}
