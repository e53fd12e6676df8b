"""What the kernel program keeps of an output."""

from hypothesis import given
from hypothesis import strategies as st

from antiphon.sandbox.kernel import CapturedOutput


@given(parts=st.lists(st.binary(max_size=50)), limit=st.integers(2, 60))
def test_the_first_and_the_last_bytes_are_preserved(parts: list[bytes], limit: int) -> None:
    whole = b"".join(parts).hex().encode()
    stored = CapturedOutput(limit)
    half = limit // 2
    for part in parts:
        stored.add(part.hex().encode())
    text = stored.text()
    if len(whole) <= 2 * half:
        assert text == whole.decode()
    else:
        lost = len(whole) - 2 * half
        assert (
            text == f"{whole[:half].decode()}\n[… {lost} bytes omitted …]\n{whole[-half:].decode()}"
        )
    assert stored.is_full == (len(whole) >= 2 * half)


def test_bytes_that_are_no_text_are_replaced() -> None:
    stored = CapturedOutput(100)
    stored.add(b"a\xff\xfe")
    assert stored.text() == "a\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}"
