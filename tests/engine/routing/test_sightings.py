import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.engine.routing.sightings import NOTHING, PLACES, Sighting, of_llamacpp, of_ollama, of_vllm


def test_ollama_says_which_models_are_loaded_by_their_full_names() -> None:
    seen = of_ollama(b'{"models": [{"name": "llama3:latest"}, {"model": "qwen3:8b"}]}')

    assert [seen.has_loaded(name) for name in ("llama3", "llama3:latest", "qwen3:8b", "qwen3")] == [
        True,
        True,
        True,
        False,
    ]
    assert not of_ollama(b'{"models": []}').has_loaded("llama3")


def test_llamacpp_says_how_many_slots_are_free() -> None:
    slots = [{"id": 0, "is_processing": True}, {"id": 1, "is_processing": False}]

    assert of_llamacpp(json.dumps(slots).encode()).free == 1


def test_vllm_has_a_slot_free_as_long_as_nobody_waits() -> None:
    text = '# HELP vllm:num_requests_waiting x\nvllm:num_requests_waiting{engine="0",model_name="m"} %s\n'

    assert of_vllm((text % "0.0").encode()).free == 1
    assert of_vllm((text % "3.0").encode()).free == 0
    assert of_vllm(b"other 1\n") == NOTHING


def test_who_does_not_say_what_it_has_loaded_has_what_it_serves() -> None:
    assert Sighting().has_loaded("anything")


@pytest.mark.parametrize("family", PLACES)
@given(body=st.binary() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps).map(str.encode))
def test_whatever_a_backend_answers_it_is_read(family: str, body: bytes) -> None:
    assert isinstance(PLACES[family][1](body), Sighting)
