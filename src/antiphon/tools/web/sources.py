"""What the model may cite: each source has the number of its place among all that it was ever given."""

from collections.abc import Mapping


class Sources:
    """The sources before a call, and those that it adds."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self._numbers = {url: number for number, url in enumerate(known, 1)}
        self.new: dict[str, str] = {}
        """Those that were not known, the title by the URL."""

    def cite(self, url: str, title: str) -> str:
        """Return how a source stands in what the model is told: `[3] its title — its URL`."""
        if url not in self._numbers:
            self._numbers[url] = len(self._numbers) + 1
            self.new[url] = title
        return f"[{self._numbers[url]}] {title} — {url}"


HOW_TO_CITE = (
    "When you use this, cite it right where you do: a Markdown link to the URL, as in ([example.com](https://…)), "
    "or the number in brackets, as in [1]."
)
