"""Every error that Antiphon reports, by whose fault it is.

    AntiphonError
    ├── ClientError          the request is wrong: 4xx, with `param`
    ├── BackendError         the model's server is: 502 or 503, in a stream `error` and `response.failed`
    ├── StoreError           the store is: 503, worth a retry
    └── ConfigError          the operator's settings are: the command ends with code 2

On the wire each is one envelope, `{"error": {"message", "type", "param", "code"}}`, all four keys always there
(specification section 13). `status`, `type` and `code` are HTTP status, error type and error code.
"""

import logging
from typing import Any

log = logging.getLogger("antiphon")


class AntiphonError(Exception):
    """Something went wrong, and `str(error)` says what in words that a client may read."""

    status = 500
    type = "server_error"

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        type: str | None = None,
        code: str | None = None,
        param: str | None = None,
        headers: dict[str, str] | None = None,
        gist: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self._gist = gist
        self.status = status or self.status
        self.type = type or self.type
        self.code = code
        self.param = param
        self.headers = headers or {}

    @property
    def gist(self) -> str:
        """What a log may say: the message where it is all our own words, less where it quotes anybody."""
        return self.message if self._gist is None else self._gist

    def body(self) -> dict[str, Any]:
        """The envelope's inner object: `message`, `type`, `param`, `code`."""
        return {"message": self.message, "type": self.type, "param": self.param, "code": self.code}


class ClientError(AntiphonError):
    """The client's request cannot be served as it is. Its message may quote the request, or what a backend said."""

    status = 400
    type = "invalid_request_error"

    @property
    def gist(self) -> str:
        """See `AntiphonError.gist`."""
        return f"The request was refused with status {self.status}." if self._gist is None else self._gist


class BackendError(AntiphonError):
    """The model's server failed, refused, or answered something that is not Chat Completions."""

    status = 502
    type = "server_error"

    def __init__(self, message: str, *, code: str = "server_error", is_broken: bool = False, **fields: Any) -> None:
        super().__init__(message, code=code, **fields)
        self.is_broken = is_broken
        """It was there, and its answer did not begin or did not end."""


class StoreError(AntiphonError):
    """The store could not keep or find something for a reason of its own."""

    status = 503
    type = "server_error"

    def __init__(self, message: str, **fields: Any) -> None:
        super().__init__(message, code="server_error", headers={"retry-after": "1"}, **fields)


class ConfigError(AntiphonError):
    """A setting is wrong; the message names it and says what would be right."""


def reportable(error: Exception) -> AntiphonError:
    """Return an error as a client may see it: ours as they are; a fault in Antiphon itself goes to the log, whole."""
    if isinstance(error, AntiphonError):
        return error
    log.error("A fault in Antiphon", exc_info=error)
    return AntiphonError("The server had an error while processing your request.", code="server_error")
