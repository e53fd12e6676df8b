"""Parses one response with llhttp, and adds the checks that llhttp omits.

llhttp has no limits, treats every unknown `Transfer-Encoding` as a body without an end, and
continues with a second response. So the head has a limit, framing has a limit, each framing field
is checked again, and bytes after a response make its connection unusable for another.
"""

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

MAX_HEAD = 64 * 1024
"""Maximum bytes of a head, including all interim responses (1xx) before it."""

MAX_FIELDS = 128
"""Maximum header fields of one head."""

PIECE = 16 * 1024
"""Bytes that are parsed at once before the head is complete: its limit is exact to this."""

MAX_FRAMING = 64 * 1024
"""Bytes of framing, such as chunk extensions and trailers, that a chunked body can have beyond
`CHUNK_FRAMING`.
"""

CHUNK_FRAMING = 16
"""Bytes of framing that are not counted for each piece of data."""

HEAD, BODY, DONE = 0, 1, 2
"""Phases of a response: its head is incomplete, its body is, nothing is."""

SINGLE = frozenset({"content-length", "transfer-encoding"})
"""Fields that define where the body ends. Two of them are an attempt to make two readers
disagree.
"""

VERSIONS = frozenset({"1.1", "1.0"})


class ProtocolError(OSError):
    """The backend sent an invalid HTTP/1.1 response."""


class BrokenError(OSError):
    """The connection ended before the response did."""


class UncleanEndError(BrokenError):
    """TLS ended without `close_notify`, and only the end of the connection delimits the body: it
    may be truncated.
    """


class SilenceError(TimeoutError):
    """The backend sent nothing for too long; `has_begun`: in the middle of its answer."""

    def __init__(self, *, has_begun: bool) -> None:
        super().__init__("the backend sent no data in time")
        self.has_begun = has_begun


class ResponseParser:
    """The response to one request.

    `feed` it the received bytes; `parts` collects the body until it is read.
    """

    __slots__ = (
        *("status", "headers", "parts", "phase", "keeps_alive", "is_delimited"),
        *("_parser", "_feed", "_is_chunked", "_fields", "_head_left", "_framing_left", "on_body"),
    )

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        """By lower-case names. Of several fields with one name, the first."""
        self.parts: list[bytes] = []
        self.phase = HEAD
        self.keeps_alive = False
        """Whether the connection can carry another response after this one."""
        self.is_delimited = False
        """Whether the body defines its own end: otherwise the end of the connection does."""
        self._is_chunked = False
        self._fields = 0
        self._head_left = MAX_HEAD
        self._framing_left = MAX_FRAMING
        self.on_body = (
            self.parts.append
        )  # llhttp calls it for each chunk: this way no Python code runs
        self._parser = HttpResponseParser(self)
        self._feed = self._parser.feed_data

    def feed(self, data: bytes) -> None:
        """Parse the next bytes. Raises `ProtocolError` if they are not a response."""
        phase = self.phase
        parts = self.parts
        if phase == DONE or (phase == HEAD and len(data) > PIECE):
            self._feed_pieces(data)
            return
        before = len(parts)
        try:
            self._feed(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            self._refuse(error)
        if phase == HEAD:
            if self.phase == HEAD:
                self._spend_head(len(data))
        elif self._is_chunked:
            fresh = parts[before:]
            framing = len(data) - sum(map(len, fresh)) - CHUNK_FRAMING * len(fresh)
            self._framing_left = min(self._framing_left - framing, MAX_FRAMING)
            if self._framing_left < 0 and self.phase != DONE:
                raise ProtocolError("it has more framing than data")

    @property
    def has_body(self) -> bool:
        """Whether the head announces a body, even one that its status does not allow."""
        return self._is_chunked or self.headers.get("content-length", "0") != "0"

    def end(self) -> bool:
        """The connection ended cleanly. Return whether the response is complete."""
        if self.phase == BODY and not self.is_delimited:
            self.phase = DONE
        return self.phase == DONE

    def release(self) -> None:
        """Free the parser: it refers to this object, and this object to it."""
        del self._parser, self._feed, self.on_body

    def _feed_pieces(self, data: bytes) -> None:
        """Parse a large head piece by piece, and what follows it in larger ones, of which each has
        its framing checked. Bytes after the response are not read.
        """
        if self.phase == DONE:
            self.keeps_alive = False
            return
        begin = 0
        while begin < len(data):
            end = begin + (PIECE if self.phase == HEAD else MAX_FRAMING)
            self.feed(data[begin:end])
            begin = end

    def _spend_head(self, size: int) -> None:
        self._head_left -= size
        if self._head_left < 0:
            raise ProtocolError("its head is too large")

    def _refuse(self, error: Exception) -> None:
        """llhttp cannot continue: after a complete response, that concerns no request."""
        if self.phase != DONE:
            raise ProtocolError(f"invalid HTTP/1.1: {error.__context__ or error}") from error
        self.keeps_alive = False

    # llhttp calls these. Their exceptions come out of `_feed` as the context of an HttpParserError.

    def on_message_begin(self) -> None:
        if self.phase == DONE:
            raise ProtocolError("it sent a second response")

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.phase != HEAD:
            return  # a trailer: it must not change anything
        self._fields += 1
        if self._fields > MAX_FIELDS:
            raise ProtocolError("it has too many header fields")
        key = name.decode("latin-1").lower()
        if key in self.headers:
            if key in SINGLE:
                raise ProtocolError(f"{key} twice")
            return
        self.headers[key] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        parser = self._parser
        headers = self.headers
        status = parser.get_status_code()
        if status < 200:
            self._pass_over(status)
            return
        version = parser.get_http_version()
        if version not in VERSIONS:
            raise ProtocolError(f"version {version}")
        if "transfer-encoding" in headers:
            self._check_chunked(version)
        elif "content-length" in headers and not headers["content-length"].isdigit():
            raise ProtocolError("its content-length is not a number")
        self.is_delimited = self._is_chunked or "content-length" in headers
        closes = "connection" in headers and "close" in headers["connection"].lower()
        self.keeps_alive = (
            parser.should_keep_alive() and not closes and (status != 204 or not self.has_body)
        )
        self.status = status
        self.phase = BODY

    def on_message_complete(self) -> None:
        if self.phase == BODY:
            self.phase = DONE

    def _pass_over(self, status: int) -> None:
        """An interim response does not affect the one that follows."""
        if status < 100 or status == 101:
            raise ProtocolError(f"status {status}")
        self.headers.clear()
        self._fields = 0

    def _check_chunked(self, version: str) -> None:
        headers = self.headers
        if headers["transfer-encoding"].lower() != "chunked":
            raise ProtocolError("its transfer-encoding is unknown")
        if "content-length" in headers:
            raise ProtocolError("it has both a content-length and chunks")
        if version == "1.0":
            raise ProtocolError("it has chunks in HTTP/1.0")
        self._is_chunked = True
