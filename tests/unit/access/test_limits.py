"""What a request is expected to weigh, worked out in small steps where it is large: as in one step."""

import pytest

from antiphon.access import limits
from antiphon.access.limits import weight_of

IMAGE = b'{"url": "data:image/png;base64,%b"}' % (b"A" * 5_000)
FILE = b'{"data": "%b"}' % (b"B" * 2_500)
WORDS = b'{"text": "%b"}' % (b"some words " * 300)
RUN = b'{"text": "%b"}' % (b"C" * 2_000 + b" and words" * 50)
BODY = b"[" + b", ".join([IMAGE, WORDS, FILE, RUN, b'{"a": "data:"}', IMAGE, FILE]) + b"]"


@pytest.mark.parametrize("window", [997, 1_500, 2_048, 4_001, 7_777])
def test_media_are_found_wherever_a_step_ends(window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = weight_of(BODY)
    monkeypatch.setattr(limits, "WINDOW", window)

    assert weight_of(BODY) == whole


def test_a_string_that_does_not_end_is_one() -> None:
    body = b'["data:' + b"A" * 200_000
    assert weight_of(body) < weight_of(b'["' + b"a b " * 50_000)
