"""The models of a backend, as `antiphon models` and the server's ready line name them."""

from antiphon.upstream.backend_state import BackendState
from antiphon.upstream.options import is_listed


def offered(served: BackendState) -> list[str]:
    """Return a line for each name that clients may ask for, an alias with what it stands for.

    One that the backend does not list is marked, where it listed its models.
    """
    return [_line(served, model["id"]) for model in served.offers()]


def _line(served: BackendState, name: str) -> str:
    called = served.options.aliases.get(name, name)
    line = name if called == name else f"{name} → {called}"
    is_known = is_listed(called, (model["id"] for model in served.models))
    return line if is_known or served.error else f"{line} (not listed)"
