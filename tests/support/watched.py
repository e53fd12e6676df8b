"""A program that is the command `antiphon` with a heartbeat in its event loop.

A beat comes every millisecond. Between two beats the process uses some CPU time, as
`time.process_time` counts it: in the loop's own thread, or in another one that keeps Python's lock
from it. A wall clock would count what other processes of a busy machine do, and CPU time counts
twice what two threads do at once, so the smaller of both is a step's time. What is above
`THRESHOLD` is written to the file that `BEATS` names, a line of JSON each.
"""

import asyncio
import gc
import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import uvloop

THRESHOLD = 0.005
"""Seconds of CPU time between two beats from which on they are written down."""

EVERY = 0.001

LATE = 0.010
"""Seconds after which the stack of the loop's thread is noted, to say later what the loop was
in.
"""

RETAINED = 14
"""Frames of a stack that are kept."""


class Heart:
    """Beats in the running loop, and writes down what came between two beats."""

    def __init__(self, path: Path) -> None:
        self._out = path.open("a", buffering=1)
        self._used, self._at = time.process_time(), time.monotonic()
        self._stacks: dict[int, list[str]] = {}
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._collecting = self._collected = 0.0
        gc.callbacks.append(self._note_collection)
        threading.Thread(target=self._poll, daemon=True).start()
        self._loop.call_soon(self._beat)

    def _beat(self) -> None:
        used = time.process_time()
        at = time.monotonic()
        step = min(used - self._used, at - self._at)
        if step > THRESHOLD:
            line = {
                "cpu": step,
                "gc": self._collected,
                "stacks": list(self._stacks.values()),
            }
            self._out.write(json.dumps(line) + "\n")
        self._stacks = {}
        self._collected = 0.0
        self._used, self._at = time.process_time(), time.monotonic()
        self._loop.call_later(EVERY, self._beat)

    def _note_collection(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._collecting = time.thread_time()
        else:
            self._collected += time.thread_time() - self._collecting

    def _poll(self) -> None:
        while True:
            time.sleep(LATE / 2)
            if time.monotonic() - self._at > LATE:
                frames = sys._current_frames()
                own = threading.get_ident()
                self._stacks = {
                    thread: [
                        f"{one.filename}:{one.lineno} {one.name}"
                        for one in traceback.extract_stack(frame)
                    ][-RETAINED:]
                    for thread, frame in frames.items()
                    if thread != own
                }


def main() -> None:
    """Run the command."""
    run = uvloop.run

    def watched(coroutine: Coroutine[Any, Any, Any]) -> Any:
        async def beating() -> Any:
            heart = Heart(Path(os.environ["BEATS"]))
            try:
                return await coroutine
            finally:
                del heart

        return run(beating())

    uvloop.run = watched  # type: ignore[assignment]
    from antiphon.cli import run as command  # noqa: PLC0415 - after the change

    sys.argv[0] = "antiphon"
    command()


if __name__ == "__main__":
    main()
