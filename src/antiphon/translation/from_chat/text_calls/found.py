"""A call found in text, and why a text is not one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from antiphon.protocol.tool_bindings import Offer

Offers = Mapping[str, Offer]
"""The tools that may be called, by the name that the model knows."""


@dataclass(frozen=True, slots=True)
class RawCall:
    """A call as a format spells it: the arguments as JSON data, or as the text that stands in their place."""

    name: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class TextCall:
    """A call of an offered tool. `arguments` is JSON, `raw` the text that it was written as, alone or as the first."""

    name: str
    arguments: str
    raw: str = ""


class NoCallError(ValueError):
    """The text is not a call."""


class UnfinishedError(NoCallError):
    """The text is not a call yet: what looked like its end stands inside a value."""


Parse = Callable[[str, Offers], tuple[list[RawCall], int]]
"""Takes text that begins with a call, and the tools that may be called; returns the calls, and where they end.

Raises `NoCallError`, or `UnfinishedError` where more text may make it a call.
"""
