"""Characters that a backend cut in two: the halves of a surrogate pair in two deltas."""

import re
from typing import Any

HALF = re.compile("[\ud800-\udfff]")


class SurrogateJoiner:
    """Joins halves over deltas, a field at a time; a half that never finds its other becomes U+FFFD.

    `halves` are those that wait, by field.
    """

    def __init__(self) -> None:
        self.halves: dict[str, str] = {}

    def whole(self, field: str, text: str) -> str:
        """Return the text of this delta of `field` as far as its characters are whole."""
        if not self.halves and (text.isascii() or not HALF.search(text)):
            return text
        text = self.halves.pop(field, "") + text
        if text and "\ud800" <= text[-1] <= "\udbff":
            self.halves[field], text = text[-1], text[:-1]
        return _replaced(text)

    def rest(self, field: str) -> str:
        """Return what is left of `field`, which is over: U+FFFD for a half that waits in vain, else nothing."""
        return "\ufffd" if self.halves.pop(field, "") else ""


def repaired(value: Any) -> Any:
    """Return JSON data in which every half without its other is U+FFFD: halves cannot be encoded."""
    match value:
        case str():
            return _replaced(value) if HALF.search(value) else value
        case list():
            return [repaired(member) for member in value]
        case dict():
            return {repaired(key): repaired(member) for key, member in value.items()}
    return value


def _replaced(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
