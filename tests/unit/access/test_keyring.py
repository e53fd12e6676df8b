"""What is sealed comes back to whom it was sealed for, by any server with the key, and to nobody
else.
"""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.access.keyring import Keyring, new_key, read_key
from antiphon.errors import ConfigError

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(codec="utf-8")),
    lambda children: (
        st.lists(children) | st.dictionaries(st.text(st.characters(codec="utf-8")), children)
    ),
    max_leaves=10,
)
OLD = new_key()
NEW = new_key()
RING = Keyring([OLD])
BLOB = RING.seal({"family": "mistral", "reasoning": {"thinking": "why"}}, "")


@pytest.mark.wide
@given(st.dictionaries(st.text(st.characters(codec="utf-8")), JSON))
def test_what_was_sealed_comes_back(state: dict[str, object]) -> None:
    blob = RING.seal(state, "acme")

    assert RING.unseal(blob, "acme") == state
    assert blob.isascii() and not set(blob) & set("+/= ")


def test_no_two_blobs_are_alike() -> None:
    assert RING.seal({"a": 1}, "") != RING.seal({"a": 1}, "")


def test_another_tenant_cannot_open_it() -> None:
    assert RING.unseal(RING.seal({"a": 1}, "acme"), "umbrella") is None


def test_a_replica_with_the_key_opens_it_and_one_without_does_not() -> None:
    blob = RING.seal({"a": 1}, "")

    assert Keyring([OLD]).unseal(blob, "") == {"a": 1}
    assert Keyring([NEW]).unseal(blob, "") is None
    assert Keyring().unseal(blob, "") is None


def test_after_a_rotation_the_new_key_seals_and_both_open() -> None:
    rotated = Keyring([NEW, OLD])

    assert rotated.unseal(RING.seal({"a": 1}, ""), "") == {"a": 1}
    assert Keyring([NEW]).unseal(rotated.seal({"b": 2}, ""), "") == {"b": 2}


@pytest.mark.wide
@given(st.text())
def test_no_text_makes_it_raise(text: str) -> None:
    for blob in (text, f"ar1.{text}", f"{BLOB[:13]}{text}"):
        assert RING.unseal(blob, "") is None


@given(st.data())
def test_whatever_character_is_changed_is_noticed(data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(BLOB) - 2))
    other = data.draw(st.sampled_from("ABCabc019-_.").filter(lambda char: char != BLOB[place]))

    assert RING.unseal(BLOB[:place] + other + BLOB[place + 1 :], "") is None


def test_a_key_is_written_in_base64() -> None:
    assert read_key(base64.b64encode(OLD).decode() + "\n") == OLD


@pytest.mark.parametrize("text", ["", "secret-but-no-key", base64.b64encode(b"short").decode()])
def test_an_invalid_key_is_refused_without_being_displayed(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_key(text)

    assert "32 bytes" in str(caught.value)
    assert not text or text not in str(caught.value)
