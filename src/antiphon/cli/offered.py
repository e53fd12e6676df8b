"""What a backend's models are called where an operator looks: by the names that clients use."""

from antiphon.engine.routing.names import is_listed
from antiphon.engine.routing.served import Served


def offered(served: Served) -> list[str]:
    """Return a line for each name that clients may ask for, an alias with what it stands for.

    One that the backend does not list is marked, where it listed its models.
    """
    return [_line(served, model["id"]) for model in served.offers()]


def _line(served: Served, name: str) -> str:
    called = served.share.aliases.get(name, name)
    line = name if called == name else f"{name} → {called}"
    is_known = is_listed(called, (model["id"] for model in served.models))
    return line if is_known or served.error else f"{line} (not listed)"
