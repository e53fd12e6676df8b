"""The tools of a request, and what follows from them alone: an agent sends the same ones with every
request.
"""

from collections.abc import Callable, Iterable
from operator import is_
from typing import Any, Protocol, TypeVar

from msgspec import Raw
from msgspec.json import encode

from antiphon.protocol.tools import AnyTool, FunctionTool

T = TypeVar("T")

PER_TOOL = 4096
"""Bytes that a tool takes in memory besides its JSON: as a value, and as what follows from it."""

PER_BYTE = 5
"""Copies of the JSON of tools in memory: itself, as values, and as what follows from them."""


FUNCTIONS = frozenset({FunctionTool})


class ToolList(list[AnyTool]):
    """Tools that match the rules.

    They are not changed, so that requests with the same tools share them.
    """

    __slots__ = ("_facts", "are_functions", "json", "kinds", "weight")

    def __init__(self, tools: Iterable[AnyTool], json: bytes = b"") -> None:
        super().__init__(tools)
        self.kinds = frozenset(map(type, self))
        self.are_functions = self.kinds == FUNCTIONS
        """Whether the client runs all of them, as functions."""
        self.json = json
        """Their JSON, as a client sends it; empty if they are not to be kept."""
        self.weight = PER_BYTE * len(json) + PER_TOOL * len(self)
        """Bytes of memory that they take."""
        self._facts: dict[str, tuple[tuple[object, ...], object]] = {}

    def fact(self, name: str, inputs: tuple[object, ...], compute: Callable[[], T]) -> T:
        """Return what follows from the tools and `inputs`: computed again only if an input is
        another object.

        Requests share the result, so it must not be changed.
        """
        known = self._facts.get(name)
        if known is not None and all(map(is_, known[0], inputs)):
            return known[1]  # type: ignore[return-value]
        value = compute()
        self._facts[name] = inputs, value
        return value


class EchoedTools(list[dict[str, Any]]):
    """The tools of a response, as plain data, and their JSON: the events of a stream repeat them
    three times.

    They are not changed, so that responses with the same tools share both.
    """

    __slots__ = ("json",)

    def __init__(self, tools: Iterable[dict[str, Any]]) -> None:
        super().__init__(tools)
        self.json = Raw(encode(list(self)))


class ToolMemory(Protocol):
    """Keeps the newest tools of each tenant by their JSON."""

    def find(self, tenant: str, key: bytes) -> ToolList | None:
        """Return the tools, and mark them as used."""

    def peek(self, tenant: str, key: bytes) -> ToolList | None:
        """Return the tools. Any thread can call this."""

    def newest(self, tenant: str) -> ToolList | None:
        """Return the tools that were used last."""

    def put(self, tenant: str, key: bytes, value: ToolList) -> None:
        """Keep the tools."""
