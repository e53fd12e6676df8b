"""`python -m antiphon_verify`: the command `antiphon-verify`."""

from antiphon_verify.cli import run

run()
