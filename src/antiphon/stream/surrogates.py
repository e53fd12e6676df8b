"""Characters that a backend cut in two: the halves of a surrogate pair in two deltas."""

import re

HALF = re.compile("[\ud800-\udfff]")


class SurrogateJoiner:
    """Joins halves over deltas, a field at a time; a half that never finds its other becomes U+FFFD."""

    def __init__(self) -> None:
        self._halves: dict[str, str] = {}

    def whole(self, field: str, text: str) -> str:
        """Return the text of this delta of `field` as far as its characters are whole."""
        if text.isascii() or not (self._halves or HALF.search(text)):
            return text
        text = self._halves.pop(field, "") + text
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._halves[field], text = text[-1], text[:-1]
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
