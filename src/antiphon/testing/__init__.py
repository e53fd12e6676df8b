"""Checks for your own servers, clients and sandboxes.

`check_event_stream` returns what is wrong in a stream of Responses events, `assert_event_stream` raises if anything is
wrong, `fold` rebuilds the response from it, and `RULES` are the rules. `check_sandbox` tests your own sandbox.
"""

from antiphon.testing.events.check import assert_event_stream, check_event_stream
from antiphon.testing.events.fold import fold
from antiphon.testing.events.rules import RULES, Level, Rule, Violation
from antiphon.testing.sandbox.check import check_sandbox

__all__ = [
    "RULES",
    "Level",
    "Rule",
    "Violation",
    "assert_event_stream",
    "check_event_stream",
    "check_sandbox",
    "fold",
]
