"""One request to a backend, of any kind: acquire a slot, send, and fail over to another backend on
failure.

Route.acquire() ──> attempt() ──> UpstreamReply ──> succeeded() | fail_over() | report_failure() ──>
close()
                        └──────> None: the route has another target, or the rejection was resolved; call again

`call` repeats the attempt until a backend begins its answer. A turn, which may need another body or
another step for another backend, repeats it itself.
"""  # noqa: E501 - a table, a diagram or an example

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, Protocol, TypeVar

from antiphon.errors import AntiphonError, BackendError
from antiphon.upstream.backend import Reply
from antiphon.upstream.backend_errors import read_failure
from antiphon.upstream.backend_state import ModelTarget
from antiphon.upstream.retry_policy import Failure, rejected, unanswered
from antiphon.upstream.router import Route

MAX_ERROR_BODY = 1024 * 1024
"""Bytes of a backend's error that are read."""

BROKEN = Failure(0, is_broken=True)
"""The backend accepted the request, but did not complete the answer."""

Rename = Callable[[str], str | None]
"""Returns the client's own name for a parameter in a backend's error; None if the client did not
send it.
"""


class CallRecord(Protocol):
    """The record of one attempt."""

    error: AntiphonError | None
    """Why there is no answer, or an incomplete one."""


Record = TypeVar("Record", bound=CallRecord)
Seen_contra = TypeVar("Seen_contra", contravariant=True)
Begun = TypeVar("Begun")


class CallObserver(Protocol[Seen_contra]):
    """The callbacks for every attempt. Each returns at once and never raises."""

    @property
    def requested(self) -> Sequence[Callable[[Seen_contra], None]]:
        """The request is about to be sent by this task."""

    @property
    def spoke(self) -> Sequence[Callable[[Seen_contra], None]]:
        """The answer began."""

    @property
    def answered(self) -> Sequence[Callable[[Seen_contra], None]]:
        """The answer has ended, or did not begin."""


@dataclass(slots=True)
class Unobserved:
    """The record and the observer of a call that is not observed."""

    error: AntiphonError | None = None

    requested: ClassVar[Sequence[Callable[[CallRecord], None]]] = ()
    spoke: ClassVar[Sequence[Callable[[CallRecord], None]]] = ()
    answered: ClassVar[Sequence[Callable[[CallRecord], None]]] = ()


@dataclass(frozen=True, slots=True)
class BackendRefusal:
    """A backend's answer of 400 or above that no failover can fix."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    error: AntiphonError
    """The error to report."""


def report(refusal: BackendRefusal) -> bytes | None:
    """Raise the error."""
    raise refusal.error


class UpstreamReply(Generic[Record]):
    """The response of a backend that accepted the request, and the slot that it holds until
    `close`.
    """

    __slots__ = ("_observer", "_route", "has_reply", "record", "reply", "target")

    reply: Reply

    def __init__(
        self, route: Route, target: ModelTarget, record: Record, observer: CallObserver[Record]
    ) -> None:
        self._route = route
        self._observer = observer
        self.has_reply = False
        """Whether there is a response, of any status."""
        self.target = target
        self.record = record

    def spoke(self) -> None:
        """The first token of the answer has arrived, or a whole answer."""
        for hand_over in self._observer.spoke:
            hand_over(self.record)

    def succeeded(self, *chains: str) -> None:
        """The backend completed the answer; from now on it is preferred for the route's chains, and
        for these.
        """
        self._route.succeeded(*chains)

    def fail_over(self, failure: Failure, error: AntiphonError) -> bool:
        """The answer failed before it began; return whether the route has another target for the
        request.
        """
        self.record.error = error
        return self._route.fail_over(failure, error)

    def report_failure(self, failure: Failure, error: AntiphonError) -> None:
        """The answer failed midway."""
        self.record.error = error
        self._route.report_failure(failure, error)

    async def close(self) -> None:
        """End the exchange, release the slot. Must always be called, exactly once."""
        try:
            if self.has_reply:
                await self.reply.close()
        finally:
            self._route.release()
            for hand_over in self._observer.answered:
                hand_over(self.record)


async def attempt(
    route: Route,
    path: str,
    body: bytes,
    observer: CallObserver[Record],
    record: Record,
    *,
    rename: Rename = str,
    on_refusal: Callable[[BackendRefusal], bytes | None] = report,
    records_status: bool = False,
    any_status: bool = False,
) -> UpstreamReply[Record] | None:
    """Send the request to the route's target; None if it must be sent again, to the route's new
    target.

    The caller has acquired a slot of the route; it is released if None is returned. Raises
    `AntiphonError` if no backend is reachable. An answer of 400 or above that no failover can fix
    is passed to `on_refusal`, which raises or finds another way; or it returns the JSON of an
    answer that was inside the refusal, which is the reply then. It is recorded as the client will
    receive it, with `records_status` with the original status. With `any_status` it is a reply like
    any other, and does not affect the backend's health.
    """
    target = route.target
    upstream = UpstreamReply(route, target, record, observer)
    is_accepted = False
    try:
        # Also before a call that fails at once: each attempt is reported, and each has an end.
        for hand_over in observer.requested:
            hand_over(record)
        try:
            upstream.reply = reply = await target.backend.post(path, body)
            upstream.has_reply = True
        except AntiphonError as error:
            # No answer at all. The route moves if it can; else this error is the last,
            # and the client's.
            record.error = error
            if not route.fail_over(unanswered(error), error):
                raise
            return None
        # The status alone accepts the request, before a byte of the answer: the pause of a backend
        # ends here, and not after an answer that can take minutes.
        if reply.status < 400 or any_status:
            is_accepted = True
            if route.probed is not None and reply.status < 400:
                route.lift()
            return upstream
        # A rejection has two readers: the route decides about other backends, and only if it has
        # none, `on_refusal` decides about another body.
        refusal = await _refused(reply, target, record, rename)
        if not records_status:
            record.error = refusal.error
        if not route.fail_over(
            rejected(refusal.status, refusal.headers, refusal.error), refusal.error
        ):
            # Some backends reject what their own model generated, and quote it:
            # this answer is the reply then.
            answer = on_refusal(refusal)
            if answer is not None:
                await reply.close()
                upstream.reply = Reply(200, {"content-type": "application/json"}, _whole(answer))
                record.error = None
                is_accepted = True
                return upstream
        return None
    finally:
        # Also after a cancellation: the slot is released exactly once, here or by the caller.
        if not is_accepted:
            await upstream.close()


async def call(
    route: Route,
    path: str,
    body: Callable[[ModelTarget], bytes],
    observer: CallObserver[Record],
    record: Callable[[ModelTarget], Record],
    begin: Callable[[Reply], Awaitable[Begun]],
    *,
    on_refusal: Callable[[BackendRefusal], bytes | None] = report,
    any_status: bool = False,
) -> tuple[UpstreamReply[Record], Begun]:
    """Send the request until a backend begins its answer; return that, to be closed, and the result
    of `begin`.

    `begin` reads the part of an answer that is needed to accept it; if that fails, another backend
    is called. `on_refusal` is that of `attempt`. Raises `AntiphonError` if no backend answers.
    """
    while True:
        # Before the body: it belongs to the target that it is sent to.
        if route.target.state.health.pauses:
            route.redirect()
        # Before the slot: encoding takes time, which no other request should wait for.
        sent = body(route.target)
        await route.acquire()
        recorded = record(route.target)
        upstream = await attempt(
            route, path, sent, observer, recorded, on_refusal=on_refusal, any_status=any_status
        )
        if upstream is None:
            continue
        # A status of 200 is no answer yet. Until the first part has arrived, another backend can
        # still take over.
        begun = False
        try:
            first = await begin(upstream.reply)
            begun = True
        except BackendError as error:
            if not upstream.fail_over(BROKEN, error):
                raise
        else:
            return upstream, first
        finally:
            if not begun:
                await upstream.close()


async def _refused(
    reply: Reply, target: ModelTarget, call: CallRecord, rename: Rename
) -> BackendRefusal:
    status = reply.status
    headers = reply.headers
    identity = target.state.identity
    call.error = identity.error(f"answered with status {status}", status=status)
    body = await _error_body(reply)
    return BackendRefusal(
        status, headers, body, read_failure(status, headers, body, target.model, identity, rename)
    )


async def _whole(body: bytes) -> AsyncIterator[bytes]:
    yield body


async def _error_body(reply: Reply) -> bytes:
    """Return the body of a backend's error; empty if it is incomplete or endless, since the status
    is enough.
    """
    try:
        return await reply.read(MAX_ERROR_BODY)
    except BackendError:
        return b""
