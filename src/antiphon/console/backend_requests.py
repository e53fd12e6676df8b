"""The stored requests to a response's backends, if the server stores them (`console_bodies`)."""

from itertools import chain, repeat
from typing import Any

from antiphon.console.rebuilt import PATHS
from antiphon.console.redaction import redacted
from antiphon.protocol.json_pieces import LargeObject
from antiphon.protocol.json_slices import decoded
from antiphon.sharing.compression import zstd_library


def stored_calls(stored: bytes, spans: bytes | None) -> dict[str, Any]:
    """Return the requests as `/calls` shows them.

    `stored` is `Facts.bodies`; `spans` has the names of the backends.
    """
    sent: list[dict[str, Any]] = decoded(zstd_library().decompress(stored))
    names = [name for kind, name, *_ in decoded(spans)[1] if kind == "call"] if spans else []
    calls = [
        {
            "backend": name,
            "model": request.get("model"),
            "path": PATHS["chat" if "messages" in request else "responses"],
            "request": redacted(request),
        }
        for name, request in zip(chain(names, repeat("")), sent, strict=False)
    ]
    return LargeObject(object="list", is_rebuilt=False, data=calls, has_more=False)
