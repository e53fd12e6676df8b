"""The figures of the code are those of the code."""

import ast
from pathlib import Path

import pytest
from bench.code import (
    between_packages,
    cycles,
    forwards,
    graph_of,
    read,
    repeated_classes,
    report,
    statements_line,
)
from bench.shape import Definition, only_forwards


def package(folder: Path, **files: str) -> Path:
    """A package with these files; `a__b` is `a/b.py`."""
    root = folder / "antiphon"
    for name, code in files.items():
        path = root / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
    return root


def test_an_import_for_types_alone_closes_a_cycle(tmp_path: Path) -> None:
    root = package(
        tmp_path,
        a__one="from antiphon.a.two import f\n",
        a__two="if TYPE_CHECKING:\n    from antiphon.a import three\n",
        a__three="def f():\n    import antiphon.a.one\n",
        b__four="from antiphon.a.one import f\nfrom antiphon.a.two import g\nimport os\n",
    )
    modules = read(root)
    graph = graph_of(modules)
    assert cycles(graph) == [["a.one", "a.three", "a.two"]]
    assert between_packages(modules, graph) == {("b", "a"): 2}


def test_it_counts_the_lines_of_files_and_functions(tmp_path: Path) -> None:
    root = package(
        tmp_path,
        a__one="def f():\n    return 1\n\n\nclass A:\n    def g(self):\n        '''Doc.'''\n      "
        "  return 2\n",
    )
    (one,) = read(root)
    assert (one.lines, [(each.name, each.lines) for each in one.functions]) == (
        8,
        [("a.one.f", 2), ("a.one.g", 3)],
    )
    assert "longest function: a.one.g, 3 lines" in report(root)


STATEMENTS = '''"""Doc."""

import os
from a import b

X = 1
"""Doc of a field."""


def f():
    """Doc."""
    import c

    if X:
        return 2
    "text" + X


class A(Protocol):
    def g(self):
        ...
'''


def test_statements_are_counted_without_imports_and_docstrings(tmp_path: Path) -> None:
    (one,) = read(package(tmp_path, a__one=STATEMENTS))
    assert one.statements == 7  # X, def, if, return, an expression, class, def


def test_comments_are_counted_except_those_for_tools(tmp_path: Path) -> None:
    code = (
        "# A reason.\nx = '# text'  # another\nimport b  # noqa: F401\ny: int = x  # type: ignore\n"
    )
    (one,) = read(package(tmp_path, a__one=code))
    assert (one.comments, one.lines) == (2, 4)


@pytest.mark.parametrize(
    "code",
    [
        "def f(self, a):\n    '''Doc.'''\n    return self._files.load(a)",
        "async def f(self, a, *more, key, **rest):\n    await g(self._store, a.b, "
        "*more, key=key, **rest)",
        "def f(a):\n    from antiphon.b import g\n\n    return g(a)",
        "async def f(self, a):\n    return await self._read(lambda: load(a, self._now()), a.tenant)",  # noqa: E501 - one text, or a row of a table
        "def f(self, a):\n    return self._operations().load(a, None)",
        "def f():\n    return g()",
    ],
)
def test_a_function_that_makes_one_call_only_forwards(code: str) -> None:
    assert only_forwards(function_of(code))


@pytest.mark.parametrize(
    "code",
    [
        "def f(a): ...",
        "def f(a):\n    '''Doc.'''",
        "def f(a):\n    return a",
        "def f(a):\n    return g(a) or None",
        "def f(a):\n    return g(a + 1)",
        "def f(a):\n    return g(a[0])",
        "def f(a):\n    return g(h(a))",
        "def f(a):\n    return g(f'{a}')",
        "def f(a):\n    return g(lambda: a)",
        "def f(a):\n    return g(a)(a)",
        "def f(a):\n    g(a)\n    return True",
        "def f(a):\n    if a:\n        return g(a)",
        "def f(a):\n    raise g(a)",
    ],
)
def test_a_function_that_computes_something_does_more_than_forward(code: str) -> None:
    assert not only_forwards(function_of(code))


def function_of(code: str) -> Definition:
    """The only function of this code."""
    (node,) = ast.parse(code).body
    assert isinstance(node, Definition)
    return node


def test_functions_that_only_forward_are_counted_by_folder(tmp_path: Path) -> None:
    root = package(
        tmp_path,
        a__one="def f(x):\n    return g(x)\n\n\ndef g(x):\n    return x + 1\n",
        b__c__two="class A:\n    def f(self, x):\n        return self.g(x)\n",
        b__c__three="def f(x):\n    return g(x)\n",
        top="x = 1\n",
    )
    assert forwards(read(root)) == {"b/c": (2, 2), "a": (1, 2), ".": (0, 0)}
    assert "functions that only forward: 3" in report(root)


def test_a_class_name_counts_once_for_each_module_that_has_it(tmp_path: Path) -> None:
    root = package(
        tmp_path,
        a__one="class Files: ...\n\n\nclass _Part: ...\n\n\nclass Alone: ...\n\n\nclass Alone: "
        "...\n",
        a__two="class Files: ...\n\n\nclass _Part: ...\n\n\nclass Row: ...\n\n\ndef f(x):\n    "
        "return x\n",
        b__three="class Files: ...\n\n\nclass Row: ...\n",
    )
    assert repeated_classes(read(root)) == {"Files": 3, "Row": 2}
    assert "class names in several modules: 2 (in 3 or more: Files 3)" in report(root)


def test_the_table_has_the_statements_and_the_comments_of_each_package(tmp_path: Path) -> None:
    root = package(tmp_path, a__one="# Why.\nx = 1\n", a__two="def f():\n    return 1\n")
    heads, *_, last = (line.split() for line in report(root).partition("\n\n")[0].splitlines())
    row = dict(zip(heads[6:9], last[5:8], strict=True))  # one heading has two words
    assert last[0] == "all"
    assert row == {"statements": "3", "comments/100": "25.0", "functions": "1"}


def test_the_statements_of_another_folder_are_a_line(tmp_path: Path) -> None:
    assert (
        statements_line(package(tmp_path, a__one=STATEMENTS, b="x = 1\n"))
        == "statements in antiphon: 8"
    )
