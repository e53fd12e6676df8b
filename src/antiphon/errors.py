"""Every error that Antiphon reports, by its cause.

    AntiphonError
    ├── ClientError          the request is invalid: 4xx, with `param`
    │   ├── BadRequestError              400
    │   ├── AuthenticationError          401
    │   ├── PermissionDeniedError        403
    │   ├── NotFoundError                404
    │   ├── ConflictError                409
    │   ├── UnprocessableEntityError     422
    │   └── RateLimitError               429
    ├── BackendError         the backend failed: 502 or 503, in a stream `error` and `response.failed`
    ├── FaultError           a fault in Antiphon: 500, or `response.failed`
    ├── StoreError           the store failed: 503, worth a retry
    ├── APITimeoutError      a call of the library took longer than its `timeout`
    └── ConfigError          the settings are invalid: the command ends with code 2

A `ClientError` is created in the class of its status (`BY_STATUS`), so code that raises one names
the status alone.

On the wire each is one envelope, `{"error": {"message", "type", "param", "code"}}`, always with all
four keys (specification section 13). `status`, `type` and `code` are HTTP status, error type and
error code.
"""  # noqa: E501 - a table, a diagram or an example

import logging
import re
from collections.abc import Iterable
from typing import Any, Self

log = logging.getLogger("antiphon")

FAULT = "The server had an error while processing your request."
"""What a client receives for a fault in Antiphon."""


class AntiphonError(Exception):
    """Something went wrong. `message` is for the client; `str(error)` is for the operator, and can have more details.

    - `status_code` (in this package also `status`) is the HTTP status of the error, `type` its group, and `code` its
      code for programs, or None.
    - `request_id` is the id of the request, as in the log; None if the error belongs to no request of the library.
    - `param` is the place in the request, such as `tools[0].name`, or None.
    - `headers` are the headers of an HTTP reply with this error, such as `retry-after`.
    - `detail` is the text of `str(error)`, with details such as the URL of a backend and what to do about it.

    >>> from antiphon import Antiphon, AntiphonError
    >>> with Antiphon() as client:
    ...     try:
    ...         client.responses.retrieve("resp_none")
    ...     except AntiphonError as error:
    ...         print(error.status_code, error.message)
    404 Response with id 'resp_none' not found.
    """  # noqa: E501 - a table, a diagram or an example

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
        detail: str | None = None,
    ) -> None:
        super().__init__(detail or message)
        self.message = message
        self._gist = gist
        self.status = status or self.status
        self.type = type or self.type
        self.code = code
        self.param = param
        self.headers = headers or {}
        self.request_id: str | None = None
        self.size: tuple[int, int] | None = None
        """How many tokens the prompt has, and how many its model accepts; None if unknown, or if
        the error is about something else.
        """

    @property
    def status_code(self) -> int:
        """The HTTP status of the error."""
        return self.status

    @classmethod
    def overloaded(
        cls, message: str, headers: dict[str, str] | None = None, detail: str | None = None
    ) -> Self:
        """Return the error for a lack of capacity, here or at a backend: 503, with
        `retry-after`.
        """
        kind = "service_unavailable_error"
        code = "server_is_overloaded"
        waits = headers or {"retry-after": "1"}
        return cls(message, status=503, type=kind, code=code, headers=waits, detail=detail)

    @property
    def gist(self) -> str:
        """The text for the log: `str(error)`, without quotes from a client or a backend."""
        return str(self) if self._gist is None else self._gist

    def body(self) -> dict[str, Any]:
        """The envelope's inner object: `message`, `type`, `param`, `code`."""
        return {"message": self.message, "type": self.type, "param": self.param, "code": self.code}


class ClientError(AntiphonError):
    """The request is wrong, or a limit rejects it. The message can quote the request, or the error of a backend.

    Most statuses have a class of their own, such as `NotFoundError`; any other 4xx is a plain `ClientError`.

    >>> from antiphon import Antiphon, ClientError
    >>> with Antiphon() as client:
    ...     try:
    ...         client.responses.create(model="demo", input="Hi", temperature=9)
    ...     except ClientError as error:
    ...         print(type(error).__name__, error.status_code, error.param)
    BadRequestError 400 temperature
    """  # noqa: E501 - a table, a diagram or an example

    status = 400
    type = "invalid_request_error"

    def __new__(cls, *args: Any, status: int | None = None, **fields: Any) -> Self:
        """Return an error of the class of its status."""
        kind: type[Self] = BY_STATUS.get(status or cls.status, cls) if cls is ClientError else cls
        return super().__new__(kind)

    @property
    def gist(self) -> str:
        """See `AntiphonError.gist`."""
        return (
            f"The request was rejected with status {self.status}."
            if self._gist is None
            else self._gist
        )


class BadRequestError(ClientError):
    """A parameter is invalid, missing or unknown; `param` names it.

    >>> from antiphon import Antiphon, BadRequestError
    >>> with Antiphon() as client:
    ...     try:
    ...         client.responses.create(model="demo", input="Hi", max_output_tokens=-1)
    ...     except BadRequestError as error:
    ...         print(error.param, error.code)
    max_output_tokens integer_below_min_value
    """

    status = 400


class AuthenticationError(ClientError):
    """The API key of the request, or that of a backend, is missing, wrong or expired.

    >>> from antiphon import ClientError, AuthenticationError
    >>> isinstance(ClientError("Rejected.", status=401), AuthenticationError)
    True
    """

    status = 401


class PermissionDeniedError(ClientError):
    """The caller may not do this.

    >>> from antiphon import ClientError, PermissionDeniedError
    >>> isinstance(ClientError("Rejected.", status=403), PermissionDeniedError)
    True
    """

    status = 403


class NotFoundError(ClientError):
    """The object, or the model, does not exist.

    >>> from antiphon import Antiphon, NotFoundError
    >>> with Antiphon() as client:
    ...     try:
    ...         client.models.retrieve("none")
    ...     except NotFoundError as error:
    ...         print(error.status_code, error.code)
    404 model_not_found
    """

    status = 404


class ConflictError(ClientError):
    """The state of the object does not allow this now.

    >>> from antiphon import ClientError, ConflictError
    >>> isinstance(ClientError("Rejected.", status=409), ConflictError)
    True
    """

    status = 409


class UnprocessableEntityError(ClientError):
    """The request contradicts an earlier one, such as another body with the same idempotency key.

    >>> from antiphon import ClientError, UnprocessableEntityError
    >>> isinstance(ClientError("Rejected.", status=422), UnprocessableEntityError)
    True
    """

    status = 422


class RateLimitError(ClientError):
    """A limit is reached. `headers` has `retry-after` if it is known when to retry.

    >>> from antiphon import ClientError, RateLimitError
    >>> isinstance(ClientError("Rejected.", status=429), RateLimitError)
    True
    """

    status = 429


BY_STATUS: dict[int, Any] = {
    kind.status: kind
    for kind in (
        BadRequestError,
        AuthenticationError,
        PermissionDeniedError,
        NotFoundError,
        ConflictError,
        UnprocessableEntityError,
        RateLimitError,
    )
}
"""The class of a rejected request by its status."""


class BackendError(AntiphonError):
    """The model's server failed, is unreachable, or its answer is not a Chat Completions answer.

    >>> from antiphon import Antiphon, BackendError
    >>> with Antiphon(backend="http://127.0.0.1:9/v1") as client:
    ...     try:
    ...         client.responses.create(model="qwen3", input="Hi")
    ...     except BackendError as error:
    ...         print(error.status_code)
    503
    """

    status = 502
    type = "server_error"

    def __init__(
        self, message: str, *, code: str = "server_error", is_broken: bool = False, **fields: Any
    ) -> None:
        super().__init__(message, code=code, **fields)
        self.is_broken = is_broken
        """The backend was reached, but its answer did not start or did not end."""
        self.refusal: tuple[int, bytes] | None = None
        """The HTTP status and body of the refusal that a backend sent as the beginning of its
        answer.
        """


class FaultError(AntiphonError):
    """What a client receives for a fault in Antiphon, which the log has in full."""

    def __init__(self) -> None:
        super().__init__(FAULT, code="server_error")


class StoreError(AntiphonError):
    """The store failed to write or read.

    >>> from antiphon import Antiphon, StoreError
    >>> with Antiphon() as client:
    ...     try:
    ...         print(client.responses.create(model="demo", input="Hi").status)
    ...     except StoreError as error:  # worth a retry
    ...         print(error.headers["retry-after"])
    completed
    """

    status = 503
    type = "server_error"
    is_disk_full = False
    """Whether it failed because the store's disk is full."""
    is_uncertain = False
    """Whether a job may be stored nevertheless: the store did not answer that question."""

    def __init__(self, message: str, **fields: Any) -> None:
        super().__init__(message, code="server_error", headers={"retry-after": "1"}, **fields)


class APITimeoutError(AntiphonError, TimeoutError):
    """A call took longer than its `timeout`, and was ended.

    >>> from antiphon import Antiphon, APITimeoutError
    >>> with Antiphon() as client:
    ...     try:
    ...         client.responses.create(model="demo", input="Hi", timeout=1e-9)
    ...     except APITimeoutError as error:
    ...         print(error.code)
    request_timeout
    """

    status = 504

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"The call took longer than its timeout of {seconds:g} seconds.", code="request_timeout"
        )


class ConfigError(AntiphonError):
    """A setting is wrong; the message names it and says how to correct it.

    The message often quotes a URL, so parts of URLs that can be secret are removed from it.

    >>> from antiphon import Antiphon, ConfigError, Settings
    >>> try:
    ...     Antiphon(Settings(retention_days=0))
    ... except ConfigError as error:
    ...     print(error)
    The settings of the program are not valid: `retention_days` must be a whole number, at least 1 and at most 36500.
    """  # noqa: E501 - a table, a diagram or an example

    def __init__(self, message: str, **fields: Any) -> None:
        super().__init__(without_secrets(message), **fields)


_WORD = re.compile(r"[^\s'\"`<>]*[@?#][^\s'\"`<>]+|[^\s'\"`<>]+://[^\s'\"`<>]+")
_PACKAGE = re.compile(r"@[a-z0-9-]+/[a-z0-9-]+")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_PASSWORD_CUT_OFF = re.compile(r"^([^/\[:]*):(?!\d*[.,;:]?(?:/|$))[^/]*")
"""Replaces host and port if the text ends within the password, as at a space."""
_EXAMPLES = {"postgresql://user@host/database"}
"""URLs of our own advice."""
_DISPLAYED_OPTIONS = {"mode", "host", "port", "dbname", "sslmode", "pooler", "application_name"}
"""Parameters of a URL's query with values that are shown: all others can be secret."""


def without_secrets(text: str) -> str:
    """Return a text without the parts of its URLs that can be secret."""
    return _WORD.sub(lambda found: redacted(found[0]), text)


def redacted(url: str) -> str:
    """Return a URL, valid or not, without the parts that can be secret.

    These are user information, values in the query, and fragments. Harmless options stay. If an
    unencoded password and a query with `@` look alike, as in `http://a:b?c@d`, everything after the
    scheme is omitted.
    """
    is_path = url.startswith(("/", "~", "./")) and not url.startswith("//")
    if is_path or url.rstrip(".,;") in _EXAMPLES or _PACKAGE.fullmatch(url):
        return url  # a path, or an npm package, in which these characters have no meaning
    scheme = found[0] if (found := _SCHEME.match(url)) else ""
    rest = url[len(scheme) :]
    user = ""
    at = ""
    if not (scheme == "sqlite://" and rest.startswith("/")):
        # A password can contain anything that ends a host, so the last @ counts.
        hidden, at, rest = rest.rpartition("@")
        if "?" in hidden or "#" in hidden:
            return f"{scheme}…"
        user = "…" if at else ""
    rest, fragment, _ = rest.partition("#")
    rest, mark, query = rest.partition("?")
    if scheme and not at:
        rest = _PASSWORD_CUT_OFF.sub(r"\1:…", rest)
    options = "&".join(map(_option, query.split("&"))) if query else ""
    return f"{scheme}{user}{at}{rest}{mark}{options}{'#…' if fragment else ''}"


def _option(pair: str) -> str:
    name, equals, _ = pair.partition("=")
    if name in _DISPLAYED_OPTIONS:
        return pair
    return f"{name}=…" if equals else "…"


def closest_name(name: str, names: Iterable[str]) -> str:
    """Return the name that a misspelled one probably means; empty if no name is similar."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for mistakes

    lower = {one.lower(): one for one in names}
    near = get_close_matches(name[:100].lower(), lower, 1)
    return lower[near[0]] if near else ""


def reportable(error: Exception) -> AntiphonError:
    """Return an error for the client: an Antiphon error is unchanged; a bug in Antiphon goes to the
    log, in full.
    """
    if isinstance(error, AntiphonError):
        return error
    log.error("A fault in Antiphon", exc_info=error)
    return FaultError()
