import json
from typing import Any

import msgspec
import pytest

from antiphon.errors import BackendError, ClientError
from antiphon.history.context import Context
from antiphon.protocol.items.calls import ToolSearchCall, ToolSearchOutput
from antiphon.protocol.items.messages import Message
from antiphon.protocol.refused_answers import read_refusal
from antiphon.protocol.response import Usage
from antiphon.protocol.validation.validate import decode_request
from antiphon.runs.steps import AttachFiles, CallModel, FinishRun
from antiphon.runs.turn import Turn
from antiphon.translation.dialects.profile import ModelProfile
from antiphon.translation.files import ReadFile, ReadFiles
from antiphon.translation.to_chat_completions.defaults import ModelDefaults
from antiphon.translation.wire import Finish
from antiphon.upstream.backend_state import ModelTarget
from tests.support.parts import target, turn_for

ODD = {
    "type": "function",
    "name": "find",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string", "pattern": "^[A-Z]"}},
    },
}


def turn(to: ModelTarget | None = None, *text: str, history: int = 0, **body: Any) -> Turn:
    request = decode_request(msgspec.json.encode({"model": "m", "input": "Hi", **body}))
    items: list[Any] = [Message(role="user", content=text) for text in text or ("Hi",)]
    return turn_for(request, Context(items[:history], items[history:]), to or target())


def called(turn: Turn) -> dict[str, Any]:
    step = turn.next()
    assert isinstance(step, CallModel)
    return step.body


def error(message: str, **fields: Any) -> bytes:
    return json.dumps({"error": {"message": message, **fields}}).encode()


def test_it_calls_the_model_and_finishes_with_its_answer() -> None:
    one = turn()
    ending = Finish("completed", None)

    assert called(one)["messages"] == [{"role": "user", "content": "Hi"}]
    one.answered(ending)
    assert one.next() == FinishRun(ending)


def known(window: int, dialect: str = "generic") -> ModelTarget:
    """A model with a window of so many tokens."""
    one = target(dialect)
    one.state.measured = {"m": ModelProfile(context_window=window)}
    one.follow()
    return one


def test_with_truncation_a_prompt_is_shortened_to_the_window_before_it_is_sent() -> None:
    words = "word " * 400  # 500 tokens
    one = turn(
        known(2048),
        *[f"{number} {words}" for number in range(8)],
        "Well?",
        history=8,
        truncation="auto",
    )

    sent = [message["content"].split()[0] for message in called(one)["messages"]]

    assert sent == ["5", "6", "7", "Well?"]


@pytest.mark.parametrize("most", [None, 7_000])
def test_over_thirty_turns_at_a_full_window_the_prompt_changes_its_beginning_a_few_times(
    most: int | None,
) -> None:
    """With a window that is known, and with one that only the refusals of a backend show."""
    to = known(8192) if most is None else target()
    begins = []
    sent = []
    for length in range(16, 46):
        one = turn(
            to, *[f"{number} {'word ' * 400}" for number in range(length)], truncation="auto"
        )
        while len(json.dumps(prompt := called(one)["messages"])) > 4 * (most or 8192):
            one.refused(400, {}, error("prompt is too long"))
        begins.append(int(prompt[0]["content"].split()[0]))
        sent.append(len(prompt))

    assert begins == sorted(begins)
    assert len(set(begins)) <= 6
    assert min(sent) >= 4


@pytest.mark.parametrize(
    ("window", "truncation"), [(2048, "disabled"), (2048, None), (100_000, "auto")]
)
def test_a_prompt_stays_whole_where_it_fits_or_the_client_wants_it_whole(
    window: int, truncation: str | None
) -> None:
    words = "word " * 400
    one = turn(
        known(window),
        *[f"{number} {words}" for number in range(8)],
        "Well?",
        history=8,
        truncation=truncation,
    )

    assert len(called(one)["messages"]) == 9


def test_a_single_message_that_may_be_too_long_is_left_to_the_backend() -> None:
    assert len(called(turn(known(256), "word " * 400, truncation="auto"))["messages"]) == 1


@pytest.mark.parametrize("truncation", ["auto", "disabled", None])
def test_a_prompt_that_is_too_long_by_any_count_is_refused_where_it_would_be_cut(
    truncation: str | None,
) -> None:
    with pytest.raises(ClientError, match="'m', which is 256 tokens") as refused:
        turn(known(256, "ollama"), "word " * 4_000, truncation=truncation).next()

    assert (refused.value.status, refused.value.code) == (400, "context_length_exceeded")
    assert called(turn(known(256, "ollama"), "word " * 400, truncation=truncation))
    assert called(turn(known(256, "vllm"), "word " * 4_000, truncation=truncation))


def test_the_failover_backend_is_prompted_for_the_missing_call_only_if_it_cannot_be_forced() -> (
    None
):
    to = target()
    other = target()
    to.learn("tools.auto", "no")
    other.api = "responses"
    one = turn(
        to, tools=[{"type": "function", "name": "look", "parameters": None}], tool_choice="required"
    )
    assert called(one)["tool_choice"] == "auto"

    one.builder.target = other
    assert called(one)["tool_choice"] == "required"
    one.answered(Finish("completed", None))
    assert isinstance(one.next(), FinishRun)


def test_a_demand_for_a_call_that_is_too_long_for_the_window_fails_no_response() -> None:
    to = known(256, "ollama")
    to.learn("tools.auto", "no")
    tools = [{"type": "function", "name": "look", "parameters": None}]
    fitting = None
    for words in range(5, 400, 5):  # up to the longest prompt that fits
        one = turn(to, "word " * words, tools=tools, tool_choice="required")
        try:
            called(one)
        except ClientError:
            break
        fitting = one

    assert fitting is not None
    fitting.answered(Finish("completed", None))
    assert fitting.next() == FinishRun(Finish("completed", None))


def test_the_models_defaults_are_sent_and_not_returned_to_the_client() -> None:
    to = target()
    to.defaults = ModelDefaults(system_prompt="Be kind.", parameters={"top_k": 20})
    one = turn(to, instructions="Be brief.")

    body = called(one)

    assert body["messages"][0]["content"] == "Be kind.\n\nBe brief."
    assert body["top_k"] == 20
    assert one.builder.request.instructions == "Be brief."


def test_a_default_that_the_backend_rejects_is_left_out_from_then_on() -> None:
    to = target()
    to.defaults = ModelDefaults(parameters={"top_k": 20})
    one = turn(to)
    called(one)

    one.refused(400, {}, error("Unsupported parameter: 'top_k'"))

    assert "top_k" not in called(one)


def test_a_refused_parameter_is_left_out_now_and_from_then_on() -> None:
    to = target()
    one = turn(to, top_p=0.5)
    assert called(one)["top_p"] == 0.5

    one.refused(400, {}, error("Unsupported parameter: 'top_p'"))

    assert "top_p" not in called(one)
    assert "top_p" not in called(turn(to, top_p=0.5))
    assert "top_p" in called(turn(top_p=0.5))


def test_a_parameter_that_was_left_out_already_and_is_still_refused_is_reported() -> None:
    one = turn(top_p=0.5)
    called(one)
    one.refused(400, {}, error("Unsupported parameter: 'top_p'"))
    called(one)
    one.refused(400, {}, error("Unsupported parameter: 'top_p'"))
    assert called(one)["stream"] is True  # its plainest form

    with pytest.raises(ClientError, match="top_p"):
        one.refused(400, {}, error("Unsupported parameter: 'top_p'"))


def test_the_other_name_of_the_token_limit_is_tried() -> None:
    one = turn(max_output_tokens=16)
    assert called(one)["max_tokens"] == 16

    one.refused(
        400, {}, error("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
    )

    body = called(one)
    assert (body.get("max_tokens"), body["max_completion_tokens"]) == (None, 16)


def test_any_other_refusal_is_reported_at_once() -> None:
    one = turn()
    called(one)

    with pytest.raises(BackendError) as caught:
        one.refused(500, {}, b"")
    assert caught.value.status == 502


def test_a_backend_that_refuses_everything_is_not_retried_forever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = iter(f"p{number}" for number in range(100))
    monkeypatch.setattr("antiphon.runs.refusals.refused_parameter", lambda *_: next(names))
    one = turn()

    with pytest.raises(ClientError):
        for _ in range(20):
            called(one)
            one.refused(400, {}, error("no"))
    assert next(names) == "p9"


def inside(value: Any) -> Finish:
    """An answer that is only this error."""
    return Finish("completed", None, read_refusal(value))


def usage(tokens: int) -> Usage:
    return Usage(input_tokens=tokens, total_tokens=tokens)


UNKNOWN = {"message": "The frobnicator declined this.", "code": 400}


@pytest.mark.parametrize(
    "value", [UNKNOWN, {"message": "jinja: roles must alternate"}], ids=["refusal", "template"]
)
def test_a_refusal_inside_an_answer_is_sent_once_more_in_its_plainest_form(value: Any) -> None:
    one = turn(top_p=0.5)
    assert called(one)["top_p"] == 0.5

    one.answered(inside(value), is_silent=True)

    assert "top_p" not in called(one)
    one.answered(inside({"message": "Another.", "code": 400}), is_silent=True)
    step = one.next()
    assert isinstance(step, FinishRun)
    assert value["message"] in str(step.ending.error)


def test_a_known_refusal_inside_an_answer_is_a_lesson() -> None:
    to = target()
    one = turn(to, top_p=0.5)
    called(one)

    one.answered(
        inside({"message": "Unsupported parameter: 'top_p'", "code": "400"}), is_silent=True
    )

    assert "top_p" not in called(one)
    assert to.lessons.refused == {"top_p"}


@pytest.mark.parametrize(
    ("value", "status"),
    [
        ({"message": "Unsupported parameter: 'top_p'", "code": 429}, 502),
        ({"message": "The frobnicator declined this.", "code": 401}, 502),
        ({"message": "The frobnicator declined this."}, 502),
        ({"message": "The input was flagged by moderation.", "code": 400}, 400),
    ],
)
def test_another_error_inside_an_answer_is_reported(value: Any, status: int) -> None:
    one = turn(top_p=0.5)
    called(one)

    one.answered(inside(value), is_silent=True)

    step = one.next()
    assert isinstance(step, FinishRun)
    assert step.ending.error is not None
    assert step.ending.error.status == status
    assert value["message"] in step.ending.error.message


def test_nothing_is_repeated_after_output() -> None:
    one = turn(top_p=0.5)
    called(one)
    ending = inside(UNKNOWN)

    one.answered(ending)

    assert one.next() == FinishRun(ending)


def responses_target() -> ModelTarget:
    """A model at a backend that is called by its own Responses API."""
    one = target()
    one.state.api = "responses"
    one.follow()
    return one


def test_a_refusal_by_a_responses_api_is_sent_once_more_in_its_plainest_form() -> None:
    to = responses_target()
    one = turn(to, top_p=0.5, instructions="Be kind.", tools=[ODD], stream=True)
    first = called(one)
    assert (first["top_p"], "pattern" in str(first["tools"])) == (0.5, True)

    one.refused(400, {}, error("The frobnicator declined this."))

    second = one.next()
    assert isinstance(second, CallModel)
    assert "top_p" not in second.body
    assert second.body["tools"][0]["parameters"]["properties"]["city"]["description"]
    assert second.body["instructions"] == "Be kind."
    assert second.adjusted == ["sampling.top_p", "tools.schema"]
    with pytest.raises(ClientError, match="frobnicator"):
        one.refused(400, {}, error("Something else."))


def test_what_a_responses_api_refuses_is_found_and_other_values_are_sent() -> None:
    to = responses_target()
    for _ in range(12):
        one = turn(to, temperature=1.5, top_p=0.5, user="me", instructions="Be kind.")
        while called(one).get("temperature") == 1.5:
            one.refused(400, {}, error("The frobnicator declined this."))
        one.answered(Finish("completed", None))

    assert to.lessons.of("") == {"temperature=1.5"}
    assert called(turn(to, temperature=0.9, top_p=0.5))["temperature"] == 0.9
    body = called(turn(to, temperature=1.5, top_p=0.5, user="me"))
    assert (body.get("temperature"), body["top_p"], body["user"]) == (None, 0.5, "me")


def test_only_the_value_that_was_refused_is_omitted_from_then_on() -> None:
    to = target()
    for _ in range(6):
        one = turn(to, temperature=1.9)
        while called(one).get("temperature") == 1.9:
            one.refused(400, {}, error("The frobnicator declined this."))
        one.answered(Finish("completed", None))

    assert to.lessons.of("") == {"temperature=1.9"}
    step = turn(to, temperature=1.9).next()
    assert isinstance(step, CallModel)
    assert ("temperature" in step.body, list(step.adjusted)) == (False, ["sampling.temperature"])
    assert called(turn(to, temperature=0.9))["temperature"] == 0.9


def test_ever_new_values_of_a_refused_parameter_are_answered() -> None:
    to = target()
    for number in range(30):
        one = turn(to, temperature=number / 100, user="me")
        while "temperature" in called(one):
            one.refused(400, {}, error("The frobnicator declined this."))
        one.answered(Finish("completed", None))

    assert to.lessons.of("") == {"temperature"}


def test_tokens_that_a_refusal_reports_count() -> None:
    one = turn(top_p=0.5)
    called(one)
    ending = inside(UNKNOWN)
    ending.usage = usage(7)

    one.answered(ending, is_silent=True)
    called(one)
    one.answered(Finish("completed", usage(5)))

    step = one.next()
    assert isinstance(step, FinishRun)
    assert step.ending.usage == usage(12)


def test_a_default_of_the_operator_with_a_refused_value_is_omitted() -> None:
    to = target()
    to.lessons.learn("top_k=20")
    to.defaults = ModelDefaults(parameters={"top_k": 20})
    assert "top_k" not in called(turn(to))

    to.defaults = ModelDefaults(parameters={"top_k": 30})
    assert called(turn(to))["top_k"] == 30


def test_too_long_an_input_is_reported_unless_it_may_be_truncated() -> None:
    one = turn(target(), "a", "b")
    called(one)

    with pytest.raises(ClientError) as caught:
        one.refused(400, {}, error("maximum context length is 8 tokens"))
    assert (caught.value.code, caught.value.param) == ("context_length_exceeded", "input")


def test_truncation_drops_turns_until_it_fits_or_one_exchange_is_left() -> None:
    one = turn(target(), *"abcdefgh", history=7, truncation="auto", instructions="Be brief.")
    seen = []
    with pytest.raises(ClientError) as caught:
        for _ in range(9):
            seen.append("".join(message["content"] for message in called(one)["messages"][1:]))
            one.refused(400, {}, error("prompt is too long"))

    assert seen == ["abcdefgh", "efgh", "fgh", "h"]
    assert caught.value.code == "context_length_exceeded"
    assert called(one)["messages"][0] == {"role": "system", "content": "Be brief."}


def test_files_are_read_before_the_model_is_called_and_a_refusal_numbers_them_like_the_client() -> (
    None
):
    file = {"type": "input_file", "file_url": "https://example.com/a.pdf"}
    body = {"model": "m", "input": [{"role": "user", "content": [file]}]}
    request = decode_request(msgspec.json.encode(body))
    history: list[Any] = [Message(role="user", content=text) for text in "abcd"]
    turn = turn_for(request, Context(history, list(request.input)), target())

    step = turn.next()
    assert isinstance(step, AttachFiles)
    turn.builder.files = ReadFiles()
    refused = ClientError("It is damaged.", param="input[0].content[0]")
    turn.builder.files.add(ReadFile(step.part, error=refused), step.form)
    with pytest.raises(ClientError) as caught:
        turn.next()
    assert caught.value is refused


def test_a_search_that_was_answered_before_its_process_was_lost_is_not_answered_again() -> None:
    search = ToolSearchCall(id="tsc_1", call_id=None, execution="server", arguments={"query": "x"})
    found = ToolSearchOutput(id="tso_1", call_id=None, execution="server", tools=[])
    content = Message(role="assistant", content="The second attempt says this at once.")
    request = decode_request(msgspec.json.encode({"model": "m", "input": "Hi"}))
    one = turn_for(
        request,
        Context([], [Message(role="user", content="Hi")]),
        target(),
        lambda: [search, found, content],
    )
    called(one)
    one.answered(Finish("completed", None))

    assert isinstance(one.next(), FinishRun)
