"""What facts and the log report about the error of a failed response."""

from antiphon.errors import AntiphonError, ClientError, FaultError, log
from antiphon.protocol.response import ResponseError
from antiphon.telemetry.formatters import fields


def failure_of(error: Exception) -> ResponseError:
    """Return the code, else the type, and the message that a client receives for an error."""
    known = error if isinstance(error, AntiphonError) else FaultError()
    return ResponseError(code=known.code or known.type, message=known.message)


def log_failure(error: AntiphonError) -> None:
    """Log why a response failed, unless its client must correct the request, or `reportable` has
    logged the fault.
    """
    if not isinstance(error, ClientError | FaultError):
        code = error.code or error.type
        log.info("The response failed: %s: %s", code, error.gist, extra=fields(code=code))
