"""Times the model calls and tool calls of each response, for the timeline that is stored with
it.
"""

import time

from antiphon.errors import AntiphonError, BackendError
from antiphon.telemetry.observers import ObservedCall, Observer, Span, ToolUse


class Timeline(Observer):
    """Adds a span to the record of a response for each model call and each tool call.

    With `keeps_bodies`, the span of a model call contains the request that the backend received.
    """

    def __init__(self, *, keeps_bodies: bool = False) -> None:
        self._keeps_bodies = keeps_bodies

    def requested(self, call: ObservedCall) -> None:
        """See `Observer.requested`."""
        if call.record is not None:
            call.span = span = Span("call", call.target.state.label, time.monotonic())
            call.record.spans.append(span)
            if self._keeps_bodies:
                span.body = call.sent

    def spoke(self, call: ObservedCall) -> None:
        """See `Observer.spoke`."""
        if call.span is not None and call.span.first is None:
            call.span.first = time.monotonic()

    def answered(self, call: ObservedCall) -> None:
        """See `Observer.answered`."""
        if call.span is not None:
            call.span.ended = time.monotonic()
            if call.error is not None:
                call.span.error = _kind(call.error)
                call.span.message = call.error.message

    def used(self, use: ToolUse) -> None:
        """See `Observer.used`."""
        if use.record is not None:
            name = f"{use.server}.{use.name}" if use.server else use.name
            use.span = span = Span("tool", name, time.monotonic())
            use.record.spans.append(span)

    def returned(self, use: ToolUse) -> None:
        """See `Observer.returned`."""
        if use.span is not None:
            use.span.ended = time.monotonic()
            if use.error is not None:
                use.span.error = use.error.code or "failed"


def _kind(error: AntiphonError) -> str:
    """Return the code of an error, or the status with which a backend rejected the request."""
    is_rejection = isinstance(error, BackendError) and error.status < 500
    return str(error.status) if is_rejection or not error.code else error.code
