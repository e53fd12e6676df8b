import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.chat.sealed import seal, unseal
from antiphon.errors import ClientError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8")),
    lambda children: st.lists(children) | st.dictionaries(st.text(st.characters(codec="utf-8")), children),
    max_leaves=10,
)


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), JSON))
def test_what_was_sealed_comes_back(state):
    blob = seal(state)

    assert unseal(blob) == state
    assert blob.isascii() and not set(blob) & set("+/= ")


@pytest.mark.parametrize(
    "blob",
    [
        "gAAAAABo-somebody-else",
        "ar1.",
        "ar1.not base64!",
        "ar1.ünïcode",
        "ar2." + seal({"a": 1})[4:],
        seal({"a": 1})[:-2],
        seal({"a": 1}) + "A",
        "ar1." + base64.urlsafe_b64encode(b"12345678[]").decode(),
        "",
    ],
)
def test_anything_else_is_refused_as_content_that_is_not_ours(blob):
    with pytest.raises(ClientError) as caught:
        unseal(blob)

    assert caught.value.status == 400
    assert caught.value.code == "invalid_encrypted_content"
    assert caught.value.param is None
    assert "could not be verified. Reason: Encrypted content could not be decrypted or parsed." in str(caught.value)


@given(st.text())
def test_no_text_makes_it_raise_anything_else(blob):
    with pytest.raises(ClientError):
        unseal(f"ar1.{blob}")


@given(st.data())
def test_one_changed_character_is_noticed(data):
    blob = seal({"family": "mistral", "reasoning": {"thinking": "why"}})
    place = data.draw(st.integers(0, len(blob) - 2))  # the last character of base64 has bits to spare
    other = data.draw(st.characters(categories=["L", "N"]).filter(lambda character: character != blob[place]))

    with pytest.raises(ClientError):
        unseal(blob[:place] + other + blob[place + 1 :])
