"""Named queries."""

import re
import sqlite3
from contextlib import closing

import pytest

from antiphon.storage.sql import migrations, parse, queries_of
from antiphon.storage.sqlite.blobs import SCHEMA
from antiphon.storage.sqlite.file import migrate
from antiphon.storage.sqlite.rows import statement


def test_a_query_is_its_name_a_comment_and_a_statement() -> None:
    text = "-- one --\n-- Why.\nSELECT 1\n\n-- two --\nSELECT\n    '-- not a comment'\n"

    assert parse(text) == {"one": "SELECT 1", "two": "SELECT\n    '-- not a comment'"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-- one --\n-- Only words.\n", "query one: no statement"),
        ("-- one --\nA\n-- one --\nB\n", "query one: defined twice"),
    ],
)
def test_a_file_that_names_no_statement_or_one_twice_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        parse(text)


def test_the_schema_knows_every_table_and_column_that_a_query_names() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, migrations("sqlite"))
        connection.execute(SCHEMA)  # of the second file
        for name in queries_of("sqlite"):
            query = statement(name).replace("{where}", "")
            connection.execute(f"EXPLAIN {query}", dict.fromkeys(re.findall(r"\$(\d+)", query)))


def test_both_databases_have_the_same_queries_with_the_same_parameters() -> None:
    sqlite = queries_of("sqlite")
    postgres = queries_of("postgres")

    assert sqlite.keys() == postgres.keys()
    for name, text in sqlite.items():
        assert set(re.findall(r"\$\d+", text)) == set(re.findall(r"\$\d+", postgres[name])), name


def test_a_migration_is_one_file_for_both_databases_with_lines_for_one_alone() -> None:
    sqlite = migrations("sqlite")
    postgres = migrations("postgres")

    assert len(sqlite) == len(postgres)
    assert ("WITHOUT ROWID" in sqlite[1], "ROW LEVEL SECURITY" in sqlite[1]) == (True, False)
    assert ("WITHOUT ROWID" in postgres[1], "ROW LEVEL SECURITY" in postgres[1]) == (False, True)
