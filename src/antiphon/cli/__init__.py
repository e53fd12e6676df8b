"""The command `antiphon`."""

import sys


def run() -> None:
    """Run the command line; end the process with its exit code, quietly also where `Ctrl-C` comes while it loads."""
    try:
        from antiphon.cli.main import run as run_loaded  # noqa: PLC0415 - it takes a while

        run_loaded()
    except KeyboardInterrupt:
        sys.exit(130)
