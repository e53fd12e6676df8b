"""What adapters of frameworks read of the items of a request."""

from collections.abc import Mapping, Sequence

import pytest

from antiphon.agents.errors import AgentError
from antiphon.agents.frameworks.items import text_of_content


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Hello", "Hello"),
        ([], ""),
        ([{"type": "input_text", "text": "Hel"}, {"type": "output_text", "text": "lo"}], "Hello"),
        ([{"type": "refusal", "refusal": "No."}], "No."),
    ],
)
def test_content_is_read_as_text(content: str | Sequence[Mapping[str, str]], text: str) -> None:
    assert text_of_content(content) == text


def test_other_content_is_not_dropped() -> None:
    image = {"type": "input_image", "image_url": "https://example.com/a.png"}
    with pytest.raises(AgentError, match="input_image") as raised:
        text_of_content([{"type": "input_text", "text": "What is this?"}, image])

    assert raised.value.code == "unsupported_value"
