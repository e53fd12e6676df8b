"""Streams with and without padding, and one that failed."""

from antiphon_verify.events.streams import STREAMS
from antiphon_verify.replies import changed

PLAIN = STREAMS["answer"]
PADDED = [each | {"obfuscation": "x"} if "delta" in each else each for each in PLAIN]
FAILED = STREAMS["failure"]
UNKNOWN_CODE = [*FAILED[:-1], changed(FAILED[-1], "response", "error", "code", to="it_broke")]
