"""Citations of web pages by the model: by the numbers of its sources."""

from antiphon.protocol.sources import SourceNumbers

HOW_TO_CITE = (
    "When you use this, cite it right where you do: a Markdown link to the URL, "
    "as in ([example.com](https://…)), or the number in brackets, as in [1]."
)


def cited(numbers: SourceNumbers, url: str, title: str) -> str:
    """Return the line that shows a page to the model: `[3] its title — its URL`."""
    return f"[{numbers.number_of(url, title)}] {title} — {url}"
