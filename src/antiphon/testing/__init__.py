"""Contracts as programs, for anybody's parts.

`check_event_stream` judges a stream of Responses events, `assert_event_stream` raises if it is not sound, `fold`
rebuilds the response from it, and `RULES` is what they go by. `check_store` proves a store's promises.
"""

from antiphon.testing.events.check import assert_event_stream, check_event_stream
from antiphon.testing.events.fold import fold
from antiphon.testing.events.rules import RULES, Level, Rule, Violation
from antiphon.testing.store.check import check_store

__all__ = ["RULES", "Level", "Rule", "Violation", "assert_event_stream", "check_event_stream", "check_store", "fold"]
