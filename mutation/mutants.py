"""Every small change of a source file that a test of its behaviour should notice.

A change replaces a piece of the text, so that its diff is one line. What is no behaviour stays as
it is: docstrings, annotations, log lines, the texts of errors, assertions, which say what is true
anyway, and tuning: constants (names in capitals), whether a comparison with one or with the time
includes it, and how long a pause is.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff

COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}

ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "//"),
    ast.FloorDiv: ("//", "*"),
    ast.Div: ("/", "*"),
}

CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}

SPOKEN = ("log", "warnings")
"""Calls through these names only say something."""

LOGGED = "reportable"
"""This function of `antiphon.errors` logs a fault of our own; a statement that drops its result
only does that.
"""

TIMES = ("now", "time.monotonic()")
"""The time: no test can tell whether something holds at that very moment."""

OPPOSITES = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
"""Changing one of these operators is the same as negating the comparison."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one file: the text from `begin` to `end` becomes `new`."""

    path: str
    begin: int
    end: int
    new: str

    def apply(self, text: str) -> str:
        """Return the changed text."""
        return text[: self.begin] + self.new + text[self.end :]

    def diff(self, text: str) -> str:
        """Return the change as a unified diff."""
        lines = unified_diff(
            text.splitlines(), self.apply(text).splitlines(), self.path, self.path, n=1, lineterm=""
        )
        return "\n".join(lines)


def mutants(path: str, text: str) -> list[Mutant]:
    """Return all mutants of a file of Python or SQL, in the order of their places."""
    found = _of_sql(text) if path.endswith(".sql") else _Finder(text).find()
    return [Mutant(path, *one) for one in sorted(set(found)) if text[one[0] : one[1]] != one[2]]


Change = tuple[int, int, str]


class _Finder(ast.NodeVisitor):
    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0]
        for line in text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._lines = text.splitlines(keepends=True)
        self._found: list[Change] = []

    def find(self) -> list[Change]:
        self.visit(ast.parse(self._text))
        return self._found

    def _at(self, line: int, column: int) -> int:
        # `ast` counts bytes.
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._at(node.lineno, node.col_offset), self._at(
            node.end_lineno, node.end_col_offset
        )

    def _replace(self, node: ast.expr | ast.stmt, new: str) -> None:
        self._found.append((*self._span(node), new))

    def _between(self, left: ast.expr, right: ast.expr, old: str, new: str) -> None:
        """Replace an operator, which stands between two operands beside blanks and parentheses."""
        begin = self._span(left)[1]
        end = self._span(right)[0]
        pattern = (
            rf"(?<!\w){re.escape(old)}(?!\w)"
            if old.isidentifier() or " " in old
            else re.escape(old)
        )
        if match := re.search(pattern, self._text[begin:end]):
            self._found.append((begin + match.start(), begin + match.end(), new))

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        for left, right, operator in zip(operands, operands[1:], node.ops, strict=False):
            if isinstance(operator, OPPOSITES) or not (_is_tuning(left) or _is_tuning(right)):
                self._between(left, right, *COMPARISONS[type(operator)])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._between(left, right, old, new)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if _is_tuning(node):
            return
        if type(node.op) in ARITHMETIC and not _is_text(node.left) and not _is_text(node.right):
            self._between(node.left, node.right, *ARITHMETIC[type(node.op)])
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            begin, end = self._span(node.operand)
            self._replace(node, self._text[begin:end])
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._replace(node, str(not node.value))
        elif isinstance(node.value, int) and node.value < 3:
            self._replace(node, str(node.value + 1))

    def visit_Call(self, node: ast.Call) -> None:
        if _speaks(node):
            return
        if isinstance(node.func, ast.Name) and node.func.id in CALLS:
            self._replace(node.func, CALLS[node.func.id])
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        """Leave the `strict` of `zip`: like an assertion, it says what is true anyway."""
        if node.arg != "strict":
            self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if not _is_for_types(node.test) and not _is_spoken(node):
            if not _is_negated_elsewhere(node.test):
                begin, end = self._span(node.test)
                self._replace(node.test, f"not ({self._text[begin:end]})")
            self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not isinstance(node.value, ast.Constant):
            self._replace(node.value, "None")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):  # a docstring, or the `...` of a protocol
            return
        if not _is_spoken(node):
            self._replace(node, "pass")
            self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        if not _asserts(node):
            self._replace(node, "pass")

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._replace(node, "pass")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if not any(map(_is_tuning, node.targets)):
            self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None and not _is_tuning(node.target):
            self.visit(node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._visit_body(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._visit_body(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for statement in node.body:
            self.visit(statement)

    def _visit_body(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Visit defaults and statements: neither annotations nor decorators do anything that a test
        could notice.
        """
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        for statement in node.body:
            self.visit(statement)

    def visit_Assert(self, node: ast.Assert) -> None:
        """Leave it: it says what is true anyway."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave it: texts are no behaviour, and the places inside have no positions before Python
        3.12.
        """


def _asserts(node: ast.Raise) -> bool:
    """Whether this is never reached, as it raises an `AssertionError`."""
    raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    return isinstance(raised, ast.Name) and raised.id == "AssertionError"


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _is_for_types(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "TYPE_CHECKING"


def _is_tuning(node: ast.expr) -> bool:
    """Whether this is a constant or the time.

    Neither its value nor what differs from it by a hair is changed.

    So is a constant with a number, such as `2 * LIMIT`.
    """
    if isinstance(node, ast.BinOp):
        sides = node.left, node.right
        return any(map(_is_constant, sides)) and any(
            isinstance(side, ast.Constant) for side in sides
        )
    return ast.unparse(node) in TIMES or _is_constant(node)


def _is_constant(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id.strip("_").isupper()


def _is_negated_elsewhere(test: ast.expr) -> bool:
    """Whether the change of an operator negates the whole condition."""
    if isinstance(test, ast.Compare):
        return len(test.ops) == 1 and isinstance(test.ops[0], OPPOSITES)
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)


def _is_spoken(statement: ast.stmt) -> bool:
    """Whether a statement only says something, whichever way it takes."""
    if isinstance(statement, ast.If):
        return all(map(_is_spoken, [*statement.body, *statement.orelse]))
    if not isinstance(statement, ast.Expr):
        return False
    called = statement.value.func if isinstance(statement.value, ast.Call) else None
    return _speaks(statement.value) or (isinstance(called, ast.Name) and called.id == LOGGED)


def _speaks(node: ast.expr) -> bool:
    """Whether this only says something, as `log.warning(…)` does, or pauses, as `await
    asyncio.sleep(…)` does.
    """
    if isinstance(node, ast.Await):
        return _speaks(node.value)
    function = node.func if isinstance(node, ast.Call) else None
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return False
    return function.value.id in SPOKEN or function.attr == "sleep"


_VALUE = r"(?:CAST\(\S+ AS \w+\)|\$\d+|'\w+'|[\w.]+\b(?![(.]))"
_CONDITION = re.compile(
    rf"\b(?:WHERE|AND|OR|ON|WHEN)\s+\(?(?P<all>{_VALUE} (?P<how><=|>=|<>|=|<|>) {_VALUE})(?! "
    r"[+*/|-])"
)
_NULL = re.compile(r"\bIS (?P<not>NOT )?NULL\b")
_LINK = re.compile(r"\b(?:AND|OR)\b")
_ORDER = re.compile(r" DESC\b")
_SUM = re.compile(r"(?<= )[+-](?= )")

_LARGER = re.compile(
    rf"WHEN ({_VALUE}) (?P<how>[<>]) ({_VALUE})(?: AND .*?)? THEN (?:\1|\3)\s+ELSE (?:\1|\3)\s+END"
)
"""The larger or the smaller of two: where they are equal, it does not matter which."""

SQL_COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "=": "<>", "<>": "="}


def _of_sql(text: str) -> Iterator[Change]:
    comments = [match.span() for match in re.finditer(r"--.*", text)]
    without_difference = {match.start("how") for match in _LARGER.finditer(text)}

    def code(pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        for match in pattern.finditer(text):
            if not any(begin <= match.start() < end for begin, end in comments):
                yield match

    for match in code(_CONDITION):
        if match.start("how") not in without_difference:
            yield *match.span("how"), SQL_COMPARISONS[match["how"]]
        yield *match.span("all"), f"({match['all']} OR 1 = 1)"
    for match in code(_NULL):
        yield *match.span(), "IS NULL" if match["not"] else "IS NOT NULL"
    for match in code(_LINK):
        yield *match.span(), "OR" if match[0] == "AND" else "AND"
    for match in code(_ORDER):
        yield *match.span(), ""
    for match in code(_SUM):
        yield *match.span(), "-" if match[0] == "+" else "+"
