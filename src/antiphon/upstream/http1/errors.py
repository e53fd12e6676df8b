"""How a request to a backend fails. Every one is an `OSError`; the timeouts are a `TimeoutError` too."""


class ConnectError(OSError):
    """No connection: the name, the address, TLS or the proxy failed. No byte of the request was sent."""


class ConnectTimeoutError(ConnectError, TimeoutError):
    """No connection within the limit."""


class ProtocolError(OSError):
    """The backend sent what is not a sound HTTP/1.1 response."""


class BrokenError(OSError):
    """The connection ended before the response did."""


class UncleanEndError(BrokenError):
    """TLS ended without `close_notify`, and only the connection's end delimits the body: it may be cut."""


class SilenceError(TimeoutError):
    """The backend sent nothing for too long."""
