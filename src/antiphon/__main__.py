"""`python -m antiphon`."""

from antiphon.cli import run

run()
