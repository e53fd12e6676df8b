"""A call found in text, and why a text is not one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from antiphon.protocol.tool_bindings import Offer

Offers = Mapping[str, Offer]
"""The tools that can be called, by the name that the model knows."""


@dataclass(frozen=True, slots=True)
class RawCall:
    """A call as a format spells it: the arguments as JSON data, or as the text in their
    position.
    """

    name: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class TextCall:
    """A call of an offered tool. `arguments` is JSON, `raw` the text in which it was written, alone
    or as the first call.
    """

    name: str
    arguments: str
    raw: str = ""


class NoCallError(ValueError):
    """The text is not a call."""


class UnfinishedError(NoCallError):
    """The text is not a call yet: the apparent end is inside a value."""


Parse = Callable[[str, Offers], tuple[list[RawCall], int]]
"""Accepts text that begins with a call, and the tools that can be called; returns the calls, and
where they end.

Raises `NoCallError`, or `UnfinishedError` if more text can make it a call.
"""
