"""One row of `/openapi.json`: what a resource declares about each of its endpoints, next to the
endpoint itself. `server/resources/openapi.py` makes the description of them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

Schema = Mapping[str, Any]

CONTENT = "application/octet-stream"
"""The media type of the content of a file. A client can request a range of it."""


class DescribedForm(NamedTuple):
    """A body as `multipart/form-data`: files, and fields as text."""

    files: Sequence[str]
    fields: type[Struct] | Schema | None = None
    needs_files: bool = True


class Described(NamedTuple):
    """One endpoint: its method in lower case, its path, what it does, and what it receives."""

    method: str
    path: str
    summary: str
    body: type[Struct] | Schema | None = None
    """A body as JSON."""
    query: type[Struct] | Sequence[type[Struct]] = ()
    form: DescribedForm | None = None
    """The body, or another form of it."""
    parameters: Sequence[Schema] = ()
    """Parameters that no type has."""
    takes_key: bool = False
    """Whether it accepts an `Idempotency-Key`."""
    reply: type[Struct] | None = None
    """The type of the reply. Without one, it is an object."""
    media: str = "application/json"
    """The media type of the reply."""


def query_parameter(name: str, schema: Schema) -> Schema:
    """Return a parameter of a query that no type has."""
    return {"name": name, "in": "query", "schema": schema}
