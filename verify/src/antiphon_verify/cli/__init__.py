"""The command `antiphon-verify`: errors on one line, and exit code 2 for mistakes that the user can
correct.
"""

import sys

from rich.console import Console

from antiphon_verify.cli.application import app
from antiphon_verify.cli.reports import PROGRAM
from antiphon_verify.errors import VerifyError


def run() -> None:
    """Run the command line, and exit with its exit code."""
    try:
        app(prog_name=PROGRAM)
    except VerifyError as error:
        line = f"{PROGRAM}: {' '.join(str(error).split())}"
        Console(stderr=True).print(line, style="red", markup=False, highlight=False, soft_wrap=True)
        sys.exit(2)
