"""Times the model calls and tool calls of each response, for the timeline that is stored with
it.
"""

import time

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
                call.span.error = call.error.code or str(call.error.status)
                call.span.message = call.error.message

    def used(self, use: ToolUse) -> None:
        """See `Observer.used`."""
        use.span = span = Span("tool", use.name, time.monotonic())
        use.record.spans.append(span)

    def returned(self, use: ToolUse) -> None:
        """See `Observer.returned`."""
        if use.span is not None:
            use.span.ended = time.monotonic()
            if use.error is not None:
                use.span.error = use.error.code or "failed"
