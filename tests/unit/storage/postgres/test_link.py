"""What a failure of PostgreSQL means for a client, and for the next attempt."""

import asyncpg
import pytest

from antiphon.storage.postgres.link import is_about_data, is_worth_a_retry, store_error

FAILED = "The store operation failed."
UNREACHABLE = "The store is unreachable."
CAUSES = [
    (asyncpg.DiskFullError(), "The store's disk is full."),
    (asyncpg.InsufficientPrivilegeError(), "The store's database role lacks a privilege."),
    (TimeoutError(), "The store did not respond in time."),
    (asyncpg.QueryCanceledError(), "The store did not respond in time."),
    (OSError(), UNREACHABLE),
    (asyncpg.UndefinedTableError(), FAILED),
]
FOR_A_MOMENT = [
    (asyncpg.ReadOnlySQLTransactionError(), "The store is read-only."),
    (asyncpg.TooManyConnectionsError(), UNREACHABLE),
    (asyncpg.DeadlockDetectedError(), UNREACHABLE),
    (asyncpg.InvalidCachedStatementError(), UNREACHABLE),
    (ConnectionResetError(), UNREACHABLE),
]
OF_THE_DATA = [
    (asyncpg.NotNullViolationError(), FAILED),
    (asyncpg.DataError(), FAILED),
    (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogate"), FAILED),
]


@pytest.mark.parametrize(("cause", "words"), [*CAUSES, *FOR_A_MOMENT, *OF_THE_DATA])
def test_a_client_receives_what_happened_without_details(cause: Exception, words: str) -> None:
    error = store_error(cause)

    assert (error.message, error.__cause__) == (words, cause)
    assert is_about_data(error) == ((cause, words) in OF_THE_DATA)
    assert is_worth_a_retry(cause) == ((cause, words) in FOR_A_MOMENT)
