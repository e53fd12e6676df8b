"""`python -m antiphon`."""

from antiphon.cli.main import run

run()
