"""The requirements of a run: by API, by area, without those to skip."""

from collections.abc import Iterable, Sequence

from antiphon_verify.areas import REQUIREMENTS
from antiphon_verify.errors import VerifyError
from antiphon_verify.requirement import Requirement

APIS = {
    "chat": ("chat", "transport"),
    "responses": ("responses", "transport"),
    "messages": ("messages",),
    "all": (),
}
"""The first words of the ids of each API; an empty tuple means all."""


def is_under(id: str, place: str) -> bool:
    """Whether an id is the place, or is below it: `responses:stream` contains
    `responses:stream:one-terminal`.
    """
    return id == place or id.startswith(f"{place}:")


def under(places: Iterable[str]) -> set[str]:
    """Return the ids below some places. Raises `VerifyError` for a place without any."""
    found: set[str] = set()
    for place in places:
        ids = {one for one in REQUIREMENTS if is_under(one, place)}
        if not ids:
            raise VerifyError(
                f"'{place}' is neither a requirement nor an area. "
                "'antiphon-verify list' shows them."
            )
        found |= ids
    return found


def chosen(api: str = "all", only: Sequence[str] = ()) -> list[Requirement]:
    """Return the requirements of an API, limited to the named areas if any are named.

    Raises `VerifyError`.
    """
    if api not in APIS:
        raise VerifyError(f"There is no API '{api}'. Choose one of: {', '.join(APIS)}.")
    ids = under(APIS[api]) if APIS[api] else set(REQUIREMENTS)
    if only:
        ids &= under(only)
    if not ids:
        raise VerifyError(f"The API '{api}' has no requirements in {', '.join(only)}.")
    return [requirement for requirement in REQUIREMENTS.values() if requirement.id in ids]
