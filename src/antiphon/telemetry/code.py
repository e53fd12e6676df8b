"""Metrics of the sandbox that runs code, read when they are scraped."""

from collections.abc import Callable, Mapping

from antiphon.status.code_status import CodeStatus
from antiphon.telemetry.kinds import Labels, ObservedNumbers


def code_metrics(lookup: Callable[[], CodeStatus | None]) -> list[ObservedNumbers]:
    """Return the metrics of this process's sandbox; without one they have no values."""

    def gauge(name: str, text: str, of: Callable[[CodeStatus], float]) -> ObservedNumbers:
        def read() -> Mapping[Labels, float]:
            found = lookup()
            return {} if found is None else {(): float(of(found))}

        return ObservedNumbers(f"antiphon_code_{name}", text, poll_once=read)

    def counter(
        name: str, text: str, label: str, of: Callable[[CodeStatus], Mapping[str, int]]
    ) -> ObservedNumbers:
        def read() -> Mapping[Labels, float]:
            found = lookup()
            return (
                {}
                if found is None
                else {(value,): float(count) for value, count in of(found).items()}
            )

        return ObservedNumbers(f"antiphon_code_{name}", text, label, poll_once=read, kind="counter")

    return [
        gauge(
            "kernels", "Processes that hold the variables of a container.", lambda one: one.kernels
        ),
        gauge("memory_bytes", "Bytes of memory that these processes use.", lambda one: one.memory),
        counter("calls", "Calls of code that ended, by outcome.", "ending", lambda one: one.calls),
        counter(
            "rejections",
            "Calls of code that were not run, by reason.",
            "reason",
            lambda one: one.rejections,
        ),
    ]
