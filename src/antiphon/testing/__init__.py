"""Checks for your own servers, clients and sandboxes.

`check_event_stream` returns what is wrong in a stream of Responses events, `assert_event_stream`
raises if anything is wrong, `fold` rebuilds the response from it, and `RULES` are the rules.
`check_sandbox` tests your own sandbox.

The names for event streams are those of the package `antiphon_verify`, and need it: in a clone of
Antiphon, install it with `pip install ./verify`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from antiphon.testing.sandbox.check import check_sandbox
from antiphon.verifier import problem_with_verifier

if TYPE_CHECKING:
    from antiphon_verify import (
        RULES,
        Level,
        Rule,
        Violation,
        assert_event_stream,
        check_event_stream,
        fold,
    )

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

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
        if problem := problem_with_verifier("antiphon_verify"):
            raise ImportError(
                f"{__name__}.{name} cannot be loaded: {problem}", name="antiphon_verify"
            )
        return getattr(import_module("antiphon_verify"), name)

    def __dir__() -> list[str]:
        return __all__
