"""Why a server gave no result, as an `mcp_call` tells it."""

from collections.abc import Mapping
from typing import Any, Literal

MAX_WORDS = 2_000
"""Characters of a server's own words that an error repeats."""


class ServerError(Exception):
    """A server could not be asked (`http_error`, its `code` the HTTP status or 0), or it refused in its protocol.

    The specification's section 5 has both forms. `may_repeat`: the server has certainly not carried anything out.
    `is_slow`: it was waited for in vain. `gist` is for the log, in place of the message.
    """

    def __init__(
        self,
        message: str,
        *,
        type: Literal["http_error", "mcp_protocol_error"] = "http_error",
        code: int = 0,
        may_repeat: bool = False,
        is_slow: bool = False,
        gist: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.type = type
        self.code = code
        self.may_repeat = may_repeat
        self.is_slow = is_slow
        self._gist = gist

    @property
    def gist(self) -> str:
        """What a log may say, where nobody else's words stand but the last ones of a program of the settings."""
        if self.type == "mcp_protocol_error":
            return f"it refuses in its protocol, with the code {self.code}."
        return self._gist or self.message

    def error(self) -> Mapping[str, Any]:
        """The `error` of the call's item."""
        return {"type": self.type, "code": self.code, "message": self.message}


def refused(code: int, message: str) -> ServerError:
    """Return what a server's own error of the protocol becomes."""
    return ServerError(shortened(message) or "It gives no reason.", type="mcp_protocol_error", code=code)


def shortened(text: str, most: int = MAX_WORDS) -> str:
    """Return a text of at most so many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
