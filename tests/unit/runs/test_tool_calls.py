"""How a call of a tool ends that raises an error, or takes too long."""

import asyncio
from typing import Any

import pytest

from antiphon.runs.tool_calls import BROKEN, TOO_LATE, executed


class Tool:
    """A tool that raises an error, or waits."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error

    async def run(self, use: object) -> Any:
        if self.error is not None:
            raise self.error
        await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("error", "is_late", "expected"),
    [
        (None, True, TOO_LATE),
        (ValueError("no"), False, BROKEN),
        (TimeoutError("a connection of the tool"), False, BROKEN),
    ],
)
async def test_the_result_of_a_call_states_how_it_failed(
    error: Exception | None, is_late: bool, expected: str
) -> None:
    until = asyncio.get_running_loop().time() if is_late else None
    tool: Any = Tool(error)
    use: Any = None
    outcome = await executed(tool, "mcp", use, until)

    assert outcome.stated == f"Error: {expected}"
    assert outcome.is_failed
