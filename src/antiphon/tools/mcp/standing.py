"""What the operator is told of servers: once that one of the settings fails, and once that it works again."""

from typing import Literal

from antiphon.errors import log
from antiphon.tools.mcp.errors import ServerError
from antiphon.tools.mcp.target import Target

What = Literal["list", "call"]


class Standing:
    """Which servers of the settings fail, and at what."""

    def __init__(self) -> None:
        self._failing: dict[str, What] = {}

    def failed(self, target: Target, what: What, error: ServerError) -> None:
        """Take down that a server's list, or a call, could not be had."""
        if not target.is_ours or target.is_lent:
            log.debug("At a request's word: %s", _words(target, error))
        elif target.label not in self._failing:
            self._failing[target.label] = what
            log.warning("%s", _words(target, error))

    def answered(self, target: Target, what: What) -> None:
        """Take down that it answered. A list that cannot be had is not mended by a call that can."""
        if target.is_ours and not target.is_lent and self._failing.get(target.label) in (what, "call"):
            del self._failing[target.label]
            log.info("The MCP server '%s' works again.", target.label)


def _words(target: Target, error: ServerError) -> str:
    """Say which server fails and why; most errors name it themselves."""
    whose = f"The MCP server '{target.label}'"
    return error.gist if error.gist.startswith(whose) else f"{whose} fails: {error.gist}"
