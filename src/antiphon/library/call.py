"""A call of the HTTP API, as data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

if TYPE_CHECKING:
    from antiphon.library.forms import MultipartForm


@dataclass(frozen=True, slots=True)
class ApiCall:
    """A request: its path below `/v1`, its query, and its body, which is a JSON object or a
    form.
    """

    method: str
    path: str
    query: Mapping[str, list[str]] = field(default_factory=dict)
    body: "Mapping[str, Any] | MultipartForm | None" = None


def path(pattern: str, *ids: str) -> str:
    """Return a path with the ids in place of each `{}`. Raises `ValueError` for an empty id."""
    if not all(ids):
        raise ValueError("An id is empty. Pass the `id` of an object.")
    return pattern.format(*(quote(one, safe="") for one in ids))


def encoded(parameters: Mapping[str, Any]) -> bytes:
    """Return parameters as JSON; objects of the official SDK are sent as it sends them.

    Raises `TypeError`.
    """
    return msgspec.json.encode(parameters, enc_hook=_plain)


def _plain(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise TypeError(
            f"A parameter holds a value of the type '{type(value).__name__}', "
            "which JSON cannot represent."
        )
    return dump(mode="json", exclude_unset=True, warnings=False)
