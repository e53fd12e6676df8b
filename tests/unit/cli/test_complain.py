"""Messages of the command line."""

import errno

import pytest

from antiphon.cli.complain import cannot_listen


@pytest.mark.parametrize(
    ("number", "setting", "advice"),
    [
        (errno.EADDRINUSE, "", "Choose another port with --port, or stop the program that listens there."),
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
    assert cannot_listen("192.0.2.1", 80, OSError(number, ""), setting).message.endswith(f". {advice}")
