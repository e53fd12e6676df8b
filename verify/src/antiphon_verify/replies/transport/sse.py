"""Frames of a stream."""

from dataclasses import replace

from antiphon_verify.events.streams import STREAMS
from antiphon_verify.replies import Reply, streams

GOOD = streams(STREAMS["answer"], cache_control="no-cache")


def headed(**headers: str) -> Reply:
    """Return the stream with other headers."""
    return replace(
        GOOD,
        headers={
            **GOOD.headers,
            **{name.replace("_", "-"): value for name, value in headers.items()},
        },
    )


def reworded(old: bytes, new: bytes) -> Reply:
    """Return the stream with other bytes."""
    return replace(GOOD, body=GOOD.body.replace(old, new))
