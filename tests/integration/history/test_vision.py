"""Images for a model that sees none: another model describes each of them once."""

import asyncio
import logging
from functools import partial
from typing import Any

import pytest

from antiphon.config import Settings
from antiphon.errors import AntiphonError, BackendError
from antiphon.gateway.parts import Parts
from antiphon.history import vision
from antiphon.history.vision import Vision
from antiphon.runs.respond import respond
from antiphon.storage.sqlite.store import SqliteStore
from antiphon.storage.store import Store
from antiphon.translation.dialects.profile import ModelProfile
from antiphon.upstream.backend import Reply
from antiphon.upstream.options import BackendOptions, ModelOptions
from antiphon.upstream.registry import ModelRegistry
from antiphon.upstream.scripted import ScriptedBackend
from tests.support.parts import NOW, begin, called, foundation, parts_with, plain, query, stream
from tests.support.waiting import until

CAT = "data:image/png;base64,iVBORw0KGgo="
DOG = "https://example.com/dog.png"
USAGE = {"prompt_tokens": 700, "completion_tokens": 30, "total_tokens": 730}


def image(url: str = CAT) -> dict[str, Any]:
    return {"type": "input_image", "image_url": url}


def user(text: str, *urls: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "input_text", "text": text}, *map(image, urls)]}


class Eye(ScriptedBackend):
    """A model that describes images, as soon as it may."""

    def __init__(self, script: Any) -> None:
        super().__init__(script, name="eye", models=["eye"])
        self.is_requested, self.may_answer = asyncio.Event(), asyncio.Event()
        self.may_answer.set()

    async def post(self, path: str, body: bytes) -> Reply:
        self.is_requested.set()
        await self.may_answer.wait()
        return await super().post(path, body)


class Sight:
    """Parts with a model `m` that sees nothing, and a model `eye` that describes images."""

    def __init__(
        self,
        *answers: Any,
        eye: Any = None,
        sees: bool | None = False,
        store: Store | None = None,
        **options: Any,
    ) -> None:
        self.blind = ScriptedBackend(answers or [plain()] * 9, name="blind", models=["m"])
        self.eye = Eye(eye or self.poll_once)
        models = ModelRegistry([self.blind, self.eye], lambda: NOW, {"blind": "llamacpp"})
        known = (ModelOptions("m", ModelProfile(vision=sees), None),)
        models.backends[0].update(options=BackendOptions(configured=known))
        self.created = parts_with(foundation(models, store, Settings(vision="eye")))

    def poll_once(self, request: dict[str, Any]) -> dict[str, Any]:
        return plain(f"picture {len(self.eye.requests)}") | {"usage": USAGE}

    async def send_request(self, *items: dict[str, Any], **body: Any) -> dict[str, Any]:
        return await query(self.created, input=list(items), **body)

    @property
    def read(self) -> list[Any]:
        """The contents of the messages that the blind model read last."""
        return [message["content"] for message in self.blind.requests[-1]["messages"]]

    def counted(self, outcome: str) -> float:
        return self.created.measures.images.value(outcome)


async def test_a_model_that_sees_nothing_reads_what_another_one_sees_with_the_question_in_view() -> (  # noqa: E501 - one text, or a row of a table
    None
):
    sight = Sight()

    await sight.send_request(user("What colour is the cat?", CAT))

    texts = "What colour is the cat?", "[Image: picture 1]"
    assert sight.read == [[{"type": "text", "text": text} for text in texts]]
    (requested,) = sight.eye.requests
    text, picture = requested["messages"][0]["content"]
    assert text["text"].endswith("What colour is the cat?")
    assert picture == {"type": "image_url", "image_url": {"url": CAT}}
    assert sight.counted("described") == 1


@pytest.mark.parametrize("is_stored", [True, False])
async def test_a_later_turn_reads_the_same_words_and_describes_nothing_again(
    is_stored: bool,
) -> None:
    sight = Sight()
    first = await sight.send_request(user("What is this?", CAT), store=is_stored)
    before = sight.read
    if is_stored:
        await sight.send_request(user("And the tail?"), previous_response_id=first["id"])
    else:
        await sight.send_request(
            user("What is this?", CAT), *first["output"], user("And the tail?"), store=False
        )

    assert sight.read[: len(before)] == before
    assert (len(sight.eye.requests), sight.counted("known")) == (1, 1)


async def test_an_image_in_the_output_of_a_tool_is_described_with_the_users_question() -> None:
    sight = Sight(called("view"), plain())
    tools = [{"type": "function", "name": "view"}]
    first = await sight.send_request(user("Is the button red?"), tools=tools)
    output = {"type": "function_call_output", "call_id": "call_1", "output": [image(DOG)]}
    await sight.send_request(output, previous_response_id=first["id"], tools=tools)

    text, picture = sight.eye.requests[0]["messages"][0]["content"]
    assert picture["image_url"]["url"] == DOG
    assert text["text"].endswith("Is the button red?\nFrom the output of call call_1 of view:")
    assert "[Image: picture 1]" in str(sight.read)
    assert "image_url" not in str(sight.blind.requests[-1])


async def test_an_image_is_described_once_per_request_and_again_for_another_question() -> None:
    sight = Sight()
    await sight.send_request(user("What is this?", CAT, CAT, DOG))
    assert len(sight.eye.requests) == 2
    await sight.send_request(user("How old is it?", CAT))
    assert len(sight.eye.requests) == 3


async def test_what_is_stored_outlives_the_process_and_what_is_not_to_be_stored_is_not() -> None:
    for is_stored, polls in ((True, 0), (False, 1)):
        store = SqliteStore.open("sqlite://", now=lambda: NOW)
        await Sight(store=store).send_request(user("What is this?", CAT), store=is_stored)
        later = Sight(store=store)
        await later.send_request(user("What is this?", CAT), store=is_stored)
        assert len(later.eye.requests) == polls


@pytest.mark.parametrize("sees", [True, None])
async def test_a_model_that_sees_or_may_see_is_sent_the_image(sees: bool | None) -> None:
    sight = Sight(sees=sees)
    await sight.send_request(user("What is this?", CAT))
    assert sight.eye.requests == []
    assert sight.read[0][1]["image_url"]["url"] == CAT


async def test_a_failure_names_the_setting_and_the_model() -> None:
    sight = Sight(eye=[(500, {"error": {"message": "out of memory"}})] * 9)
    with pytest.raises(
        BackendError, match=r"'eye' that describes them \(setting `vision`\) failed"
    ) as caught:
        await sight.send_request(user("What is this?", CAT))
    assert caught.value.status == 502
    assert sight.blind.requests == []
    assert sight.counted("failed") == 1


async def test_an_empty_description_is_a_failure_and_the_next_request_tries_again() -> None:
    sight = Sight(eye=[plain(""), plain("a cat")])
    with pytest.raises(AntiphonError, match="has no text"):
        await sight.send_request(user("What is this?", CAT))
    await sight.send_request(user("What is this?", CAT))
    assert "a cat" in str(sight.read)


async def test_a_model_for_images_that_no_backend_has_is_named() -> None:
    sight = Sight()
    created: Parts = sight.created
    created.run.vision = Vision(
        "nowhere", partial(respond, created.run), created.run.cache, created.measures.images
    )
    with pytest.raises(BackendError, match="'nowhere'"):
        await sight.send_request(user("What is this?", CAT))


async def test_a_stream_fails_as_a_stream_does() -> None:
    sight = Sight(eye=[(500, {})] * 9)
    with pytest.raises(BackendError):
        await stream(sight.created, input=[user("What is this?", CAT)])


async def test_the_model_that_describes_is_sent_its_own_images() -> None:
    sight = Sight()
    known = (ModelOptions("eye", ModelProfile(vision=False), None),)
    sight.created.models.backends[1].update(options=BackendOptions(configured=known))
    await sight.send_request(user("What is this?", CAT))
    assert len(sight.eye.requests) == 1


async def test_tokens_of_descriptions_count_for_the_limits_and_are_not_in_the_usage() -> None:
    sight = Sight(
        plain() | {"usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}}
    )
    run = await begin(sight.created, input=[user("What is this?", CAT)])
    response = await run.result()

    assert response.usage is not None
    assert response.usage.total_tokens == 7
    assert run.spent()[:2] == (705, 32)


async def test_tokens_of_a_description_count_though_another_one_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vision, "AT_ONCE", 1)

    def poll(request: dict[str, Any]) -> Any:
        return (500, {}) if DOG in str(request) else plain("a cat") | {"usage": USAGE}

    sight = Sight(eye=poll)
    run = await begin(sight.created, input=[user("What is this?", CAT, DOG)])
    with pytest.raises(BackendError):
        await run.result()

    assert run.spent()[:2] == (700, 30)


async def test_tokens_of_a_description_count_for_the_request_that_is_left() -> None:
    sight = Sight(
        plain() | {"usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}}
    )
    sight.eye.may_answer.clear()
    runs = [await begin(sight.created, input=[user("What is this?", CAT)]) for _ in range(2)]
    first, second = (asyncio.create_task(run.result()) for run in runs)
    await sight.eye.is_requested.wait()
    first.cancel()
    await asyncio.wait([first])
    sight.eye.may_answer.set()
    await second

    assert [run.spent()[:2] for run in runs] == [(0, 0), (705, 32)]


async def test_the_log_names_the_describing_model_and_nothing_of_the_image(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "antiphon")
    await Sight().send_request(user("A secret question", CAT))
    lines = [record.getMessage() for record in caplog.records]
    assert any("'m' has no vision" in line and line.endswith(" 'eye': 1.") for line in lines)
    assert "secret" not in "".join(lines)


async def test_requests_at_once_share_a_description_and_one_may_leave() -> None:
    sight = Sight()
    sight.eye.may_answer.clear()
    pending = [
        asyncio.create_task(sight.send_request(user("What is this?", CAT))) for _ in range(3)
    ]
    await sight.eye.is_requested.wait()
    await until(lambda: [one.waiting for one in sight.created.run.vision._making.values()] == [3])
    pending[0].cancel()
    sight.eye.may_answer.set()

    done = await asyncio.gather(*pending, return_exceptions=True)

    assert isinstance(done[0], asyncio.CancelledError)
    assert [one["status"] for one in done[1:] if isinstance(one, dict)] == ["completed"] * 2
    assert len(sight.eye.requests) == 1


async def test_a_description_without_waiters_is_cancelled() -> None:
    sight = Sight()
    sight.eye.may_answer.clear()
    pending = asyncio.create_task(sight.send_request(user("What is this?", CAT)))
    await sight.eye.is_requested.wait()
    pending.cancel()
    await asyncio.gather(pending, return_exceptions=True)
    await until(lambda: not sight.created.process.runs)
    assert (sight.counted("described"), sight.counted("failed")) == (0, 0)

    sight.eye.may_answer.set()
    await sight.send_request(user("What is this?", CAT))
    assert sight.counted("described") == 1
