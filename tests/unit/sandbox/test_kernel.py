"""What the kernel program keeps of an output."""

from hypothesis import given
from hypothesis import strategies as st

from antiphon.sandbox.kernel import Kept


@given(parts=st.lists(st.binary(max_size=50)), limit=st.integers(2, 60))
def test_the_first_and_the_last_bytes_are_kept(parts: list[bytes], limit: int) -> None:
    whole, kept, half = b"".join(parts).hex().encode(), Kept(limit), limit // 2
    for part in parts:
        kept.add(part.hex().encode())
    text = kept.text()
    if len(whole) <= 2 * half:
        assert text == whole.decode()
    else:
        lost = len(whole) - 2 * half
        assert text == f"{whole[:half].decode()}\n[… {lost} bytes omitted …]\n{whole[-half:].decode()}"
    assert kept.is_full == (len(whole) >= 2 * half)


def test_bytes_that_are_no_text_are_replaced() -> None:
    kept = Kept(100)
    kept.add(b"a\xff\xfe")
    assert kept.text() == "a\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}"
