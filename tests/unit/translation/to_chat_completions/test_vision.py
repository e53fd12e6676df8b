from typing import Any

import pytest

from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.to_chat_completions.vision import (
    LONGEST_QUESTION,
    RequestImage,
    described,
    images_in,
)

CAT = "data:image/png;base64,AA=="
DOG = "https://example.com/dog.png"


def image(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url, "detail": "low"}}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(parts)}


def body(*messages: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages), "stream": True}


def name(image: RequestImage) -> str:
    return f"a picture at {image.url}"


def test_an_image_has_its_neighbouring_text_as_its_question() -> None:
    requested = body(user(text("First?"), image(CAT)), user(image(DOG), text("Second?")))
    assert images_in(requested, "chat") == [
        RequestImage(CAT, "First?"),
        RequestImage(DOG, "Second?"),
    ]


def test_an_image_without_text_has_the_users_last_words_as_its_question() -> None:
    requested = body(
        {"role": "user", "content": "What is it?"},
        {"role": "assistant", "content": "Show me."},
        user(image(CAT)),
    )
    assert images_in(requested, "chat") == [RequestImage(CAT, "What is it?")]


def test_an_image_of_a_tool_has_the_users_question_and_where_it_comes_from() -> None:
    moved = user(text("From the output of call 1 of look:"), image(CAT))
    retained = {"role": "tool", "tool_call_id": "2", "content": [text("A picture:"), image(DOG)]}
    requested = body(user(text("Is it red?")), moved, retained)
    question = "Is it red?\nFrom the output of call 1 of look:"
    assert images_in(requested, "chat") == [
        RequestImage(CAT, question),
        RequestImage(DOG, "Is it red?"),
    ]


def test_of_a_long_question_the_end_counts() -> None:
    (found,) = images_in(body(user(text("x" * 5_000 + "Is it red?"), image(CAT))), "chat")
    assert len(found.question) == LONGEST_QUESTION
    assert found.question.endswith("Is it red?")


def test_descriptions_stand_in_the_places_of_images_and_nothing_else_changes() -> None:
    system = {"role": "system", "content": "Be brief."}
    requested = user(text("What?"), image(CAT), text("Say it."))
    before = body(system, requested)

    after = described(before, "chat", DIALECTS["llamacpp"], name)

    assert after["messages"] == [
        system,
        user(text("What?"), text(f"[Image: a picture at {CAT}]"), text("Say it.")),
    ]
    assert {**after, "messages": before["messages"]} == before
    assert before["messages"][1]["content"][1] == image(CAT)


def test_a_backend_that_takes_no_list_of_texts_is_sent_one_text() -> None:
    after = described(
        body(user(text("What?"), image(CAT))), "chat", DIALECTS["llama-cpp-python"], name
    )
    assert after["messages"][0]["content"] == f"What?\n\n[Image: a picture at {CAT}]"


@pytest.mark.parametrize("field", ["content", "output"])
def test_a_request_to_a_responses_api_is_described_too(field: str) -> None:
    item = {"role": "user", field: [{"type": "input_image", "image_url": CAT}]}
    body = {
        "model": "m",
        "input": [{"role": "user", "content": "What?"}, item, {"type": "reasoning", "summary": []}],
    }

    assert images_in(body, "responses") == [RequestImage(CAT, "What?")]
    (_, seen, _) = described(body, "responses", DIALECTS["vllm"], name)["input"]
    assert seen[field] == [{"type": "input_text", "text": f"[Image: a picture at {CAT}]"}]


def test_a_request_without_images_has_none() -> None:
    assert images_in(body({"role": "user", "content": "Hi"}, user(text("Hi"))), "chat") == []
