"""HTTP/1.1 for uvicorn, in few calls, and with bounds for heads and framing, time, and concurrency.

The sizes of heads and framing, slow clients, pipelines and connections are bounded here; bodies by
the application, so that their bounds apply with any server.
"""

import asyncio
import logging
from typing import Any
from urllib.parse import unquote

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser, parse_url
from uvicorn.protocols.utils import get_local_addr, get_remote_addr, is_ssl

from antiphon.http_server.asgi import CONNECTION
from antiphon.http_server.closing import ClosingConnection, ConnectionLimits, RejectedRequest
from antiphon.http_server.cycle import RequestCycle
from antiphon.http_server.handshake import FRAMING, flaw_of, is_handshake

MAX_HEAD = 64 * 1024
"""Bytes of a request's line and headers (node.js: 16 kB, nginx: 32 kB)."""

MAX_HEADERS = 100
"""Headers of a request."""

MAX_PIPELINED = 16
"""Requests of a connection that wait for the reply to an earlier one."""

PIECES = 16
"""Smallest bytes of body per byte of chunk framing: a million chunks of one byte cost a second."""

HIGH_WATER = 64 * 1024
"""Bytes of a body that wait for the application before the client has to wait."""

HEAD_END = b"\r\n\r\n"

OVERLOADED = "The server has reached its limit of connections. Please try again later."

_log = logging.getLogger("uvicorn.error")


class HttpConnection(ClosingConnection):
    """One connection (threats: slow and endless heads, tiny chunks, trailers, pipelines, floods of
    connections).
    """

    def __init__(
        self,
        config: Any,
        server_state: Any,
        app_state: dict[str, Any],
        _loop: Any = None,
        *,
        limits: ConnectionLimits,
    ) -> None:
        if not config.loaded:
            config.load()
        super().__init__(_loop or asyncio.get_event_loop(), limits)
        self._config = config
        self.state = server_state
        self._app_state = app_state
        self._parser = self._new_parser()
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._refused: RejectedRequest | None = None
        self._is_upgrade = self._is_resuming = False
        self._begun = self._wire = self._body = 0

    # Events of the transport.

    def connection_made(self, transport: Any) -> None:
        """See asyncio.Protocol."""
        self.state.connections.add(self)
        self.transport = transport
        self._addresses = {
            "server": get_local_addr(transport),
            "client": get_remote_addr(transport),
            "scheme": "https" if is_ssl(transport) else "http",
        }
        self._open(len(self.state.connections))

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self.state.connections.discard(self)
        super().connection_lost(exc)
        self._parser = None

    def data_received(self, data: bytes, *, is_turn: bool = False) -> None:
        """See asyncio.Protocol. Bytes that arrive while a request runs wait (`_take_buffered`)."""
        if self._is_leaving:
            return
        if self._is_one_too_many:
            self._refuse(503, OVERLOADED)
            return
        cycle = self.cycle
        if not is_turn and (
            self._pipeline or not (self._in_body or cycle is None or cycle.response_complete)
        ):
            self._retained += data
            self._take_buffered()
            return
        was_idle = not (self._in_head or self._in_body)
        self._begun = 0
        rest = data
        while rest:
            try:
                try:
                    self._parser.feed_data(rest)
                    break
                except HttpParserUpgrade as upgrade:
                    if self._is_upgrade:
                        self._open_websocket()
                        break
                    self._pass_over()
                    rest = rest[upgrade.args[0] :]
            except HttpParserError as error:
                refused = self._refused or RejectedRequest(400, "Invalid HTTP request received.")
                _log.debug("Refused: %s", error)
                self._refuse(refused.status, refused.message)
                break
        if self._in_head or self._in_body:
            if self._begun == was_idle:  # all of it belongs to this request
                self._wire += len(data)
            self._check_size()

    def shutdown(self) -> None:
        """Close after the running reply."""
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
        else:
            self.cycle.keep_alive = False

    # Events of the parser.

    def on_message_begin(self) -> None:
        """A request's first byte."""
        if self._is_resuming:
            return
        self._url = b""
        self._headers = []
        self._in_head = True
        self._begun = self._begun + 1
        self._wire = self._body = 0
        self._idle_until = 0.0

    def on_url(self, url: bytes) -> None:
        """A part of a request's URL."""
        if not self._is_resuming:
            self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header. Trailers are dropped: the application could not distinguish them from
        headers.
        """
        if self._in_head:
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """The last byte of a request's head."""
        if self._is_resuming:
            return
        if self._deadline is not None:
            self._clear_deadline()
        size = len(self._url)
        expects_continue = False
        codings = None
        for name, value in self._headers:
            size += len(name) + len(value)
            if name == b"expect" and value.lower() == b"100-continue":
                expects_continue = True
            elif name == b"transfer-encoding":
                codings = value if codings is None else codings + b"," + value
        if codings is not None:
            self._check_framing(codings)
        if len(self._headers) > MAX_HEADERS:
            raise self._refusal(431, f"The request has more than {MAX_HEADERS} headers.")
        if size > MAX_HEAD:
            raise self._too_large()
        if len(self._pipeline) >= MAX_PIPELINED:
            raise self._refusal(400, "Too many requests wait for the reply to an earlier one.")
        self._in_head = False
        self._in_body = True
        self._is_upgrade = self._parser.should_upgrade() and self._opens_websocket()
        if not self._is_upgrade:
            self._begin(expects_continue)

    def on_body(self, body: bytes) -> None:
        """A part of a request's body."""
        self._body += len(body)
        cycle = self.cycle
        if self._is_upgrade or cycle is None or cycle.response_complete:
            return
        cycle.add(body)
        if cycle.size > HIGH_WATER:
            self._pause_reading()

    def on_message_complete(self) -> None:
        """A request's last byte."""
        self._in_body = False
        cycle = self.cycle
        if self._is_upgrade or cycle is None or cycle.response_complete:
            return
        cycle.more_body = False
        if cycle.event is None:
            cycle.has_news = True
        else:
            cycle.wake()

    # Called by a reply.

    def end_reply(self) -> None:
        """A reply is complete: start the next, or wait for another request."""
        if self._is_leaving:
            return
        self.state.total_requests += 1
        if self.transport.is_closing():
            return
        if self._pipeline:
            self._run(self._pipeline.popleft())
            if self._retained:
                self._take_buffered()
        else:
            self._idle_until = self.loop.time() + self._config.timeout_keep_alive
            if self._idle_timer is None:
                self._idle_timer = self.loop.call_at(self._idle_until, self._expire)
        if self.is_read_paused:
            self.resume_reading()

    # Handling of received requests.

    def _new_parser(self) -> Any:
        parser = HttpRequestParser(self)
        # Another request may follow one with `Connection: close`: the first is still answered.
        parser.set_dangerous_leniencies(lenient_data_after_close=True)
        return parser

    def _begin(self, expects_continue: bool) -> None:
        """Run the application for a request after its head has arrived, or queue it behind the
        running one.
        """
        parser = self._parser
        url = parse_url(self._url)
        version = parser.get_http_version()
        path = url.path.decode("ascii")
        root: str = self._config.root_path
        scope = {
            "type": "http",
            "asgi": {"version": self._config.asgi_version, "spec_version": "2.3"},
            "http_version": version,
            "method": parser.get_method().decode("ascii"),
            "path": root + (unquote(path) if "%" in path else path),
            "raw_path": root.encode("ascii") + url.path,
            "query_string": url.query or b"",
            "root_path": root,
            "headers": self._headers,
            "state": self._app_state.copy(),
            CONNECTION: self,
            **self._addresses,
        }
        before = self.cycle
        keep_alive = version != "1.0" and parser.should_keep_alive()
        self.cycle = RequestCycle(
            scope, self, keep_alive=keep_alive, expects_continue=expects_continue
        )
        if before is None or before.response_complete:
            self._run(self.cycle)
        else:
            self._pause_reading()
            self._pipeline.append(self.cycle)

    def _run(self, cycle: RequestCycle) -> None:
        self._answered = cycle
        self._idle_until = 0.0
        tasks = self.state.tasks
        task = self.loop.create_task(cycle.run(self._config.loaded_app))
        task.add_done_callback(tasks.discard)
        tasks.add(task)

    def _opens_websocket(self) -> bool:
        if self._config.ws_protocol_class is None or not (
            self.cycle is None or self.cycle.response_complete
        ):
            return False
        if not is_handshake(
            self._parser.get_method(), self._parser.get_http_version(), self._headers
        ):
            return False
        if (flaw := flaw_of(self._url, self._headers)) is not None:
            raise self._refusal(*flaw)
        return True

    def _open_websocket(self) -> None:
        """Hand the connection over to a WebSocket; if it cannot be opened, the client receives a
        reply.
        """
        lines = [b"%b: %b\r\n" % header for header in self._headers]
        head = b"%b %b HTTP/1.1\r\n%b\r\n" % (self._parser.get_method(), self._url, b"".join(lines))
        try:
            protocol = self._config.ws_protocol_class(
                config=self._config, server_state=self.state, app_state=self._app_state
            )
            protocol.open(self.transport, head)
        except RejectedRequest as refused:
            self._refuse(refused.status, refused.message)
        except Exception as error:
            _log.error("A WebSocket cannot be opened", exc_info=error)
            self._refuse(
                500, "The WebSocket could not be opened, because of a fault in the server."
            )
        else:
            self._clear_idle()
            self._leave_tenant()
            self.state.connections.discard(self)
            self.transport.set_protocol(protocol)

    def _pass_over(self) -> None:
        """Ignore an unsupported upgrade (Java's client offers HTTP/2 each time).

        The parser treats the following bytes as the other protocol, and would lose the request's
        body, or, if the body arrives later, parse it as another request. So a new parser receives
        the framing of the body, and continues.
        """
        framing = [b"%b: %b\r\n" % header for header in self._headers if header[0] in FRAMING]
        if framing and self.cycle is not None:
            self._in_body = self.cycle.more_body = True
            self._parser = self._new_parser()
            self._is_resuming = True
            self._parser.feed_data(b"POST / HTTP/1.1\r\n" + b"".join(framing) + b"\r\n")
            self._is_resuming = False

    def _take_buffered(self) -> None:
        """Parse the bytes that arrived while a request ran, up to the end of the next request.

        The rest waits.
        """
        retained = self._retained
        start = 0
        while start < len(retained) and not (
            self._pipeline or self._is_leaving or self.transport.is_closing()
        ):
            end = retained.find(HEAD_END, start) + len(HEAD_END)
            end = end if end >= len(HEAD_END) else len(retained)
            self.data_received(retained[start:end], is_turn=True)
            start = end
        self._retained = (
            b"" if self._is_leaving or self.transport.is_closing() else retained[start:]
        )
        if self._retained:
            self._pause_reading()

    def _pause_reading(self) -> None:
        if not self.is_read_paused:
            self.is_read_paused = True
            self._clear_deadline()
            self.transport.pause_reading()

    # Strict parsing, and sizes.

    def _check_framing(self, codings: bytes) -> None:
        """Reject a body with other codings than chunked: the parser checks only the end of the last
        coding.

        Raises `RejectedRequest`. HTTP/1.0 has no codings (RFC 9112, section 6.1).
        """
        if codings.lower() != b"chunked" or self._parser.get_http_version() == "1.0":
            raise self._refusal(
                400,
                "The request's Transfer-Encoding is not supported. Send 'chunked', "
                "or a Content-Length.",
            )

    def _check_size(self) -> None:
        framing = self._wire - self._body
        if self._in_head:
            # Only now: most heads arrive complete, and need no timer.
            if not self.is_read_paused:
                self._set_deadline()
            if framing > MAX_HEAD:
                refused = self._too_large()
                self._refuse(refused.status, refused.message)
        elif framing > 2 * MAX_HEAD + self._body // PIECES:
            self._refuse(400, "The request's body is sent in chunks that are too small.")

    def _too_large(self) -> RejectedRequest:
        return self._refusal(431, f"The request's headers are larger than {MAX_HEAD} bytes.")

    def _refusal(self, status: int, message: str) -> RejectedRequest:
        self._refused = RejectedRequest(status, message)
        return self._refused
