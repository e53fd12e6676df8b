"""Nobody's words are part of a statement: what a client says is a parameter of it (threat 1)."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import antiphon.storage
from tests.support.cases import each

FOLDER = Path(antiphon.storage.__file__).parent
APPROVAL_TOOLS = {
    "execute",
    "executemany",
    "executescript",
    "fetch",
    "fetchval",
    "fetchrow",
    "cursor",
    "prepare",
}

NUMBERS_OF_OURS = {"PRAGMA", "SET idle_in_transaction_session_timeout"}
"""How the statements begin that have no parameters; what is put into them is a number of this
program.
"""


def put_together(code: str) -> Iterator[str]:
    """Each statement that is made of parts where it is asked."""
    for node in ast.walk(ast.parse(code)):
        if (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).rpartition(".")[2] in APPROVAL_TOOLS
        ):
            for provided in node.args[:1]:
                if isinstance(provided, ast.JoinedStr | ast.BinOp):
                    yield ast.unparse(provided)


@each("path", sorted(FOLDER.rglob("*.py")), ids=lambda path: path.name)
def test_a_statement_contains_no_client_data(path: Path) -> None:
    created = put_together(path.read_text())
    assert [text for text in created if not text[2:].startswith(tuple(NUMBERS_OF_OURS))] == []


@pytest.mark.parametrize(
    "code", ['c.execute(f"SELECT {x}")', 'c.fetch("SELECT " + x)', 'c.execute("%s" % x)']
)
def test_one_that_is_put_together_is_seen(code: str) -> None:
    assert len(list(put_together(code))) == 1
