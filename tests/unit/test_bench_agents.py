"""The bodies that the bench sends for agents: valid, as large as the recorded ones, another
conversation each time.
"""

from typing import Any

import msgspec
import pytest
from bench.agents import tools
from bench.agents.figures import largest_growth
from bench.agents.history import MARK, SEAL_KEYS
from bench.agents.scenarios import (
    LARGEST,
    PREVIOUS,
    SCENARIOS,
    Body,
    Scenario,
    additional,
    chat,
    encoded,
    image,
    of_conversation,
)

from antiphon.access.keyring import Keyring, read_key
from antiphon.errors import ClientError
from antiphon.translation import decode_request

CONVERSATIONS = ("codex, later turn", "long", "long, later turn")


def sent(body: Body, number: int = 1, previous: str = "") -> bytes:
    """The bytes of a body."""
    content = encoded(body, model="burst", stream=True, store=False)
    return of_conversation(content, number, previous)


def items_of(scenario: Scenario) -> list[dict[str, Any]]:
    """The items of a scenario's input."""
    items: list[dict[str, Any]] = scenario.body["input"]
    return items


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_server_accepts_each_body(name: str) -> None:
    scenario = SCENARIOS[name]()
    for body in filter(None, (scenario.body, scenario.before)):
        decode_request(sent(body, previous="resp_0123456789abcdef"))


@pytest.mark.parametrize(
    ("name", "size", "items"),
    [
        ("codex", 39_000, 4),
        ("codex, later turn", 88_000, 60),
        ("long", 1_000_000, 400),
        ("long, later turn", 1_007_000, 402),
        ("image", 5_000_000, 1),
        pytest.param("a history of 20 MB", 20_000_000, 8_300, marks=pytest.mark.wide),
        pytest.param("an image of 20 MB", 20_000_000, 1, marks=pytest.mark.wide),
    ],
)
def test_a_body_has_the_size_of_those_that_were_recorded(name: str, size: int, items: int) -> None:
    scenario = {**SCENARIOS, **LARGEST}[name]()
    assert len(sent(scenario.body)) == pytest.approx(size, rel=0.03)
    assert len(items_of(scenario)) == items


def test_codex_offers_tools_of_every_kind_that_was_recorded() -> None:
    kinds = [tool["type"] for tool in tools.codex()]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "function": 7,
        "custom": 1,
        "tool_search": 1,
        "web_search": 1,
    }
    assert len(msgspec.json.encode(tools.codex())) == pytest.approx(8_932, rel=0.03)


def test_a_request_takes_so_many_tools_and_inside_its_input_any_number() -> None:
    decode_request(sent({"input": "Hello!", "tools": tools.functions(tools.MOST)}))
    with pytest.raises(ClientError, match=str(tools.MOST)):
        decode_request(sent({"input": "Hello!", "tools": tools.functions(tools.MOST + 1)}))
    decode_request(sent(additional(1_000).body))


def test_functions_differ_and_each_run_has_the_same() -> None:
    functions = tools.functions(100)
    assert len({function["name"] for function in functions}) == 100
    assert functions == tools.functions(100)


@pytest.mark.parametrize("name", ["codex, later turn", "long, later turn"])
def test_a_later_turn_adds_two_items_to_what_was_sent_before(name: str) -> None:
    scenario = SCENARIOS[name]()
    assert items_of(scenario)[:-2] == scenario.before["input"]


def test_a_chained_turn_sends_only_what_the_other_adds() -> None:
    whole = SCENARIOS["codex, later turn"]()
    chained = SCENARIOS["chained"]()
    assert items_of(chained) == items_of(whole)[-2:]
    assert chained.before == whole.before
    assert (
        msgspec.json.decode(sent(chained.body, previous="resp_1"))["previous_response_id"]
        == "resp_1"
    )
    assert PREVIOUS not in sent(chained.body, previous="resp_1").decode()


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_every_call_has_its_output(name: str) -> None:
    items = items_of(SCENARIOS[name]())
    calls = [
        item["call_id"] for item in items if item["type"] in ("function_call", "custom_tool_call")
    ]
    outputs = [item["call_id"] for item in items if item["type"].endswith("_call_output")]
    assert calls == outputs
    assert len(set(calls)) == len(calls) > 10


@pytest.mark.parametrize("name", ["codex", *CONVERSATIONS])
def test_two_conversations_share_no_item(name: str) -> None:
    body = SCENARIOS[name]().body
    first, second = (msgspec.json.decode(sent(body, number)) for number in (1, 2))
    assert not [item for item in first["input"] if item in second["input"]]
    assert first["tools"] == second["tools"]
    assert MARK not in sent(body).decode()
    assert sent(body, 1) == sent(SCENARIOS[name]().body, 1)


def test_the_server_can_open_the_reasoning() -> None:
    keyring = Keyring([read_key(SEAL_KEYS)])
    items = items_of(SCENARIOS["codex, later turn"]())
    sealed = [item["encrypted_content"] for item in items if item["type"] == "reasoning"]
    assert len(set(sealed)) == len(sealed) == 15
    assert all(keyring.unseal(blob, "") for blob in sealed)


@pytest.mark.parametrize("size", [200, 1_000_000])
def test_a_chat_request_has_exactly_the_size_of_its_responses_counterpart(size: int) -> None:
    content = chat(size, model="burst", stream=True)
    assert len(content) == size
    assert msgspec.json.decode(content)["messages"][0]["role"] == "user"


def test_an_image_has_its_declared_size() -> None:
    url = image(100_000).body["input"][0]["content"][1]["image_url"]
    assert len(url) == pytest.approx(100_000, abs=4)


def test_growth_is_that_of_the_worst_pair_of_sizes() -> None:
    assert largest_growth({100: 4.0, 10: 2.0, 1_000: 3.0}) == 2.0
    assert largest_growth({10: 4.0, 100: 3.0}) == 0.75
