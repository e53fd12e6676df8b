"""Messages of the command line."""

import errno

import pytest

from antiphon.cli.error_output import cannot_listen, text_for_operator
from antiphon.errors import AntiphonError, ConfigError, StoreError


@pytest.mark.parametrize(
    ("number", "setting", "advice"),
    [
        (
            errno.EADDRINUSE,
            "",
            "Choose another port with --port, or stop the program that listens there.",
        ),
        (errno.EACCES, "", "Choose another port with --port."),
        (errno.EADDRNOTAVAIL, "", "Choose another address with --host."),
        (
            *(errno.EADDRINUSE, "metrics_listen"),
            "Choose another address as metrics_listen, or stop the program that listens there.",
        ),
    ],
)
def test_an_address_that_cannot_be_used_comes_with_the_flag_that_corrects_it(
    number: int, setting: str, advice: str
) -> None:
    assert cannot_listen("192.0.2.1", 80, OSError(number, ""), setting).message.endswith(
        f". {advice}"
    )


def test_the_operator_reads_the_cause_of_a_store_error_that_clients_do_not() -> None:
    error = StoreError("The store operation failed.")
    assert text_for_operator(error) == "The store operation failed."
    error.__cause__ = ValueError("no such table: items")
    assert (
        text_for_operator(error)
        == "The store operation failed. Cause: ValueError: no such table: items"
    )


@pytest.mark.parametrize("kind", [AntiphonError, ConfigError])
def test_other_errors_already_name_their_cause(kind: type[AntiphonError]) -> None:
    error = kind("Port 80 is busy.")
    error.__cause__ = OSError("busy")
    assert text_for_operator(error) == "Port 80 is busy."
