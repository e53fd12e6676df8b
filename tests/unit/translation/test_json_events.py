"""An event is a JSON object; half a character in it stays, or is repaired."""

import pytest

from antiphon.errors import BackendError
from antiphon.translation.from_chat.text_filters import repaired
from antiphon.translation.json_events import decode_event
from tests.support.cases import each


def test_half_a_character_stays_so_that_it_can_be_joined() -> None:
    halves = [decode_event(data)["t"] for data in (rb'{"t":"\ud83d"}', rb'{"t":"\ude00"}')]
    assert "".join(halves).encode("utf-16", "surrogatepass").decode("utf-16") == "😀"


def test_half_a_character_is_replaced_by_a_repair() -> None:
    assert decode_event(rb'{"t":"a\ud83d"}', repaired) == {"t": "a\ufffd"}


@each("data", [b"", b"{", b"[]", b'"a"', b"1", b"\xff", b"[" * 100_000])
def test_anything_else_is_an_error_of_the_backend(data: bytes) -> None:
    with pytest.raises(BackendError):
        decode_event(data)
