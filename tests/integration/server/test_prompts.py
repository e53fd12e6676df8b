"""Requests that name a prompt, over HTTP, WebSocket and the library, with prompts of the store and
of the settings.
"""

import asyncio
from typing import Any

import pytest
from openai import AsyncOpenAI

from antiphon import Antiphon, BackendConfig, PromptConfig, Settings
from antiphon.build.prompts import named_prompts
from antiphon.errors import ClientError
from antiphon.upstream.http import HttpBackend
from antiphon.upstream.options import BackendOptions
from tests.support.native import answering, message
from tests.support.replay import ReplayBackend
from tests.support.server import RunningServer, serve
from tests.support.socket import talk

PNG = (
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
TEMPLATE = {
    "name": "support",
    "instructions": "You help {{ customer }}.",
    "messages": [{"role": "user", "content": "About {{topic}}:"}],
    "model": "m",
    "defaults": {"temperature": 0.25},
}
VARIABLES = {"customer": "Ada", "topic": "tides"}
SEEN = [
    {"role": "system", "content": "You help Ada."},
    {"role": "user", "content": "About tides:"},
    {"role": "user", "content": "When?"},
]


async def created(server: RunningServer, **template: Any) -> str:
    """Create a prompt; return its id."""
    status, prompt = await server.post("/prompts", json=template or TEMPLATE)
    assert status == 200, prompt
    return str(prompt["id"])


def naming(prompt_id: str, **variables: Any) -> Any:
    return {"id": prompt_id, "variables": variables or VARIABLES}


async def create(sdk: AsyncOpenAI, **body: Any) -> Any:
    """Create a response by the SDK, and wait for one of the background."""
    response = await sdk.responses.create(**{"input": "When?", **body})
    async with asyncio.timeout(30):
        while response.status in ("queued", "in_progress"):
            response = await sdk.responses.retrieve(response.id)
    return response


async def error_of(server: RunningServer, **body: Any) -> tuple[int, Any]:
    status, reply = await server.post("/responses", json={"input": "When?", **body})
    return status, reply.get("error")


@pytest.mark.parametrize("ways", [{}, {"background": True}, {"store": False}])
async def test_the_sdk_makes_a_response_of_a_prompt(
    stateful: RunningServer, backend: ReplayBackend, ways: dict[str, Any]
) -> None:
    prompt = naming(await created(stateful))
    response = await create(stateful.sdk, prompt=prompt, **ways)

    assert response.status == "completed"
    assert backend.requests[-1]["messages"] == SEEN
    assert (backend.requests[-1]["model"], backend.requests[-1]["temperature"]) == ("m", 0.25)
    assert (response.model, response.temperature) == ("m", 0.25)
    assert response.prompt.to_dict() == prompt
    assert [(one.role, one.content[0].text) for one in response.instructions] == [
        ("developer", "You help Ada."),
        ("user", "About tides:"),
    ]
    if "store" not in ways:
        again = await stateful.sdk.responses.retrieve(response.id)
        assert (again.prompt, again.instructions) == (response.prompt, response.instructions)
        items = (await stateful.sdk.responses.input_items.list(response.id)).data
        assert [one.to_dict()["content"][0]["text"] for one in items] == ["When?"]


async def test_the_sdk_streams_a_response_of_a_prompt(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    prompt = naming(await created(stateful))
    async with await stateful.sdk.responses.create(
        prompt=prompt, input="When?", stream=True
    ) as stream:
        events = [event async for event in stream]

    assert events[-1].type == "response.completed"
    assert events[0].type == "response.created"
    assert events[0].response.prompt is not None
    assert events[0].response.prompt.id == prompt["id"]
    assert backend.requests[-1]["messages"] == SEEN


async def test_a_prompt_with_instructions_alone_is_echoed_as_a_text(
    stateful: RunningServer,
) -> None:
    prompt_id = await created(stateful, instructions="Be brief.")
    response = await create(stateful.sdk, model="m", prompt={"id": prompt_id})
    assert (response.instructions, response.prompt.to_dict()) == ("Be brief.", {"id": prompt_id})


async def test_fields_of_the_request_count_more_than_those_of_its_prompt(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    prompt_id = await created(stateful)
    mine = {"instructions": "Be brief.", "temperature": 1.5, "model": "m"}
    await create(stateful.sdk, prompt=naming(prompt_id), **mine)
    sent = backend.requests[-1]
    assert sent["messages"] == [{"role": "system", "content": "Be brief."}, *SEEN[1:]]
    assert sent["temperature"] == 1.5


async def test_messages_of_a_prompt_are_no_part_of_the_chain(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    prompt = naming(await created(stateful))
    first = await create(stateful.sdk, prompt=prompt)
    await create(stateful.sdk, model="m", previous_response_id=first.id, input="And then?")
    without = backend.requests[-1]["messages"]
    second = await create(
        stateful.sdk, prompt=prompt, previous_response_id=first.id, input="And then?"
    )

    assert [one["content"] for one in without[:1]] == ["When?"]
    assert backend.requests[-1]["messages"] == [*SEEN[:2], *without]
    assert second.previous_response_id == first.id


async def test_a_prompt_in_a_conversation_leaves_nothing_in_it(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    prompt = naming(await created(stateful))
    conversation = (await stateful.sdk.conversations.create()).id
    for _ in range(2):
        await create(stateful.sdk, prompt=prompt, conversation=conversation)
    assert backend.requests[-1]["messages"][:3] == SEEN
    items = (await stateful.sdk.conversations.items.list(conversation, order="asc")).data
    assert [one.to_dict()["role"] for one in items] == ["user", "assistant"] * 2


async def test_messages_of_a_prompt_need_no_input(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    prompt = naming(await created(stateful))
    response = await stateful.sdk.responses.create(prompt=prompt)
    assert response.status == "completed"
    assert backend.requests[-1]["messages"] == SEEN[:2]
    background = await stateful.sdk.responses.create(prompt=prompt, background=True)
    async with asyncio.timeout(30):
        while background.status != "completed":
            background = await stateful.sdk.responses.retrieve(background.id)
    assert backend.requests[-1]["messages"] == SEEN[:2]


async def test_a_version_that_is_named_is_used_and_else_the_default(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    prompt_id = await created(stateful, instructions="One")
    await stateful.post(f"/prompts/{prompt_id}", json={"instructions": "Two"})
    await stateful.post(
        f"/prompts/{prompt_id}", json={"instructions": "Three", "set_as_default": False}
    )
    for version, expected in ((None, "Two"), ("1", "One"), ("3", "Three")):
        named = {"id": prompt_id} | ({"version": version} if version else {})
        await create(stateful.sdk, model="m", prompt=named)
        assert backend.requests[-1]["messages"][0]["content"] == expected
    for version in ("4", "0", "x", "1" * 60):
        assert (await error_of(stateful, model="m", prompt={"id": prompt_id, "version": version}))[
            0
        ] == 404


async def test_a_background_response_keeps_the_version_it_was_queued_with(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    prompt_id = await created(stateful)
    stateful.parts.process.drain()
    stateful.parts.process.accepts_work = True
    queued = await stateful.sdk.responses.create(
        prompt=naming(prompt_id), input="When?", background=True
    )
    async with stateful.http.delete(f"{stateful.url}/prompts/{prompt_id}") as reply:
        assert reply.status == 200
    async with asyncio.timeout(30):
        while (found := await stateful.sdk.responses.retrieve(queued.id)).status != "completed":
            pass
    assert backend.requests[-1]["messages"] == SEEN
    assert found.prompt is not None


async def test_an_image_and_a_file_become_parts_where_their_placeholders_stand(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    prompt_id = await created(
        stateful,
        messages=[{"role": "user", "content": "See {{photo}} and {{ notes }} of {{who}}."}],
    )
    file = await stateful.sdk.files.create(
        file=("notes.txt", b"High water at nine."), purpose="user_data"
    )
    image = {"type": "input_image", "image_url": PNG}
    notes = {"type": "input_file", "file_id": file.id}
    await create(
        stateful.sdk, model="m", prompt=naming(prompt_id, photo=image, notes=notes, who="Ada")
    )

    parts = backend.requests[-1]["messages"][0]["content"]
    assert [part["type"] for part in parts] == ["text", "image_url", "text", "text", "text"]
    assert parts[0]["text"] == "See "
    assert parts[1]["image_url"]["url"] == PNG
    assert "High water at nine." in parts[3]["text"]
    assert parts[4]["text"] == " of Ada."


async def test_a_file_that_is_unknown_is_named_by_its_variable(stateful: RunningServer) -> None:
    prompt_id = await created(stateful, messages=[{"role": "user", "content": "{{notes}}"}])
    notes = {"type": "input_file", "file_id": "file-none"}
    status, error = await error_of(stateful, model="m", prompt=naming(prompt_id, notes=notes))
    assert (status, error["param"]) == (404, "prompt.variables.notes.file_id")
    assert error["message"] == "No such File object: file-none"


async def test_a_websocket_takes_prompts(stateful: RunningServer, backend: ReplayBackend) -> None:
    prompt = naming(await created(stateful))
    async with talk(stateful) as conversation:
        response = await conversation.created("When?", model=None, prompt=prompt)
        assert backend.requests[-1]["messages"] == SEEN
        assert response["prompt"] == prompt
        await conversation.created("And then?", previous_response_id=response["id"], store=False)
        assert backend.requests[-1]["messages"][0] == SEEN[2]
        refused = await conversation.refusal("When?", prompt={"id": "pmpt_x"})
        assert refused["message"] == "Prompt with id 'pmpt_x' not found."


async def test_what_a_prompt_adds_is_counted(stateful: RunningServer) -> None:
    prompt_id = await created(stateful, instructions="A long instruction. " * 50)
    counted = []
    for prompt in ({"prompt": {"id": prompt_id}}, {}):
        status, count = await stateful.post(
            "/responses/input_tokens", json={"model": "m", "input": "Hi", **prompt}
        )
        assert status == 200, count
        counted.append(int(str(count["input_tokens"])))
    assert counted[0] > counted[1] + 150


async def test_an_idempotent_request_has_the_same_reply_after_its_prompt_is_deleted(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    prompt_id = await created(stateful)
    body = {"input": "When?", "prompt": naming(prompt_id)}
    key = {"idempotency-key": f"one {prompt_id}"}
    _, first = await stateful.post("/responses", json=body, headers=key)
    await stateful.http.delete(f"{stateful.url}/prompts/{prompt_id}")
    assert (await stateful.post("/responses", json=body, headers=key))[1] == first
    other = {"idempotency-key": f"two {prompt_id}"}
    assert (await stateful.post("/responses", json=body, headers=other))[0] == 404
    # What was refused has reserved nothing: the same key may be used again.
    await created(stateful)
    status, _ = await stateful.post("/responses", json={"input": "Hi", "model": "m"}, headers=other)
    assert status == 200


async def test_a_text_is_never_read_as_template(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    prompt_id = await created(stateful, instructions="{{a}} {{b}} { {a}} {{ a b }}")
    variables = {"a": "{{b}} \\1 {{a}}", "b": {"type": "input_text", "text": "{{a}}"}}
    await create(stateful.sdk, model="m", prompt=naming(prompt_id, **variables))
    assert (
        backend.requests[-1]["messages"][0]["content"] == "{{b}} \\1 {{a}} {{a}} { {a}} {{ a b }}"
    )


@pytest.mark.parametrize(
    ("prompt", "status", "code", "param", "message"),
    [
        (
            "x",
            400,
            "invalid_type",
            "prompt",
            "Invalid type for 'prompt': expected an object, but got a string instead.",
        ),
        ({"id": "pmpt_x"}, 404, None, None, "Prompt with id 'pmpt_x' not found."),
        (
            {},
            400,
            "missing_required_parameter",
            "prompt.id",
            "Missing required parameter: 'prompt.id'.",
        ),
        (
            {"id": "OURS", "variables": {"customer": "Ada"}},
            *(400, "missing_required_parameter", "prompt.variables"),
            "Missing prompt variables: 'topic'. Set them in 'prompt.variables'.",
        ),
        (
            {"id": "OURS", "variables": {**VARIABLES, "tone": "dry"}},
            *(400, "unknown_parameter", "prompt.variables"),
            "Unknown prompt variables: 'tone'. The prompt does not have them. It has 'customer' "
            "and 'topic'.",
        ),
        (
            {
                "id": "OURS",
                "variables": {**VARIABLES, "customer": {"type": "input_image", "image_url": PNG}},
            },
            *(400, "invalid_value", "prompt.variables.customer"),
            "Invalid 'prompt.variables.customer': the prompt's instructions can contain only text, "
            "and this is an 'input_image'.",
        ),
    ],
)
@pytest.mark.parametrize("ways", [{}, {"stream": True}, {"background": True}])
async def test_a_prompt_that_is_wrong_is_rejected_by_name(
    stateful: RunningServer,
    prompt: Any,
    status: int,
    code: str,
    param: str,
    message: str,
    ways: dict[str, Any],
) -> None:
    if isinstance(prompt, dict) and prompt.get("id") == "OURS":
        prompt = {**prompt, "id": await created(stateful)}
    expected = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    assert await error_of(stateful, prompt=prompt, **ways) == (status, expected)


async def test_errors_come_in_the_order_schema_conversation_prompt_previous_response(
    stateful: RunningServer,
) -> None:
    unknown = {"prompt": {"id": "pmpt_x"}}
    _, error = await error_of(stateful, **unknown, temperature=9, conversation="conv_x")
    assert error["param"] == "temperature"
    _, error = await error_of(stateful, **unknown, conversation="conv_x")
    assert error["param"] == "conversation"
    _, error = await error_of(stateful, **unknown, previous_response_id="resp_x")
    assert error["message"] == "Prompt with id 'pmpt_x' not found."
    _, error = await error_of(
        stateful, prompt=naming(await created(stateful)), previous_response_id="resp_x"
    )
    assert error["code"] == "previous_response_not_found"


async def test_a_prompt_without_a_model_needs_one_in_the_request(stateful: RunningServer) -> None:
    prompt_id = await created(stateful, instructions="Be brief.")
    _, error = await error_of(stateful, prompt={"id": prompt_id})
    assert (error["code"], error["param"]) == ("missing_required_parameter", "model")
    _, error = await error_of(stateful, prompt={"id": prompt_id}, model="m", input="")
    assert (error["code"], error["param"]) == ("missing_required_parameter", "input")


async def test_variables_cannot_make_a_prompt_huge(stateful: RunningServer) -> None:
    prompt_id = await created(stateful, instructions="{{a}}" * 2000)
    status, error = await error_of(stateful, model="m", prompt=naming(prompt_id, a="x" * 1000))
    assert (status, error["param"]) == (400, "prompt.variables")


async def test_tools_of_a_prompt_satisfy_a_choice_of_the_request(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    tool = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}}
    prompt_id = await created(stateful, instructions="Look.", defaults={"tools": [tool]})
    await create(
        stateful.sdk,
        model="m",
        prompt={"id": prompt_id},
        tool_choice={"type": "function", "name": "look"},
    )
    assert backend.requests[-1]["tools"][0]["function"]["name"] == "look"
    _, error = await error_of(
        stateful,
        model="m",
        prompt={"id": prompt_id},
        tool_choice={"type": "function", "name": "none"},
    )
    assert error["param"] == "tool_choice"


async def test_answers_are_cached_by_the_content_of_a_prompt(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    prompt_id = await created(stateful)
    body = {
        "prompt": naming(prompt_id),
        "extra_body": {"antiphon": {"cache": True}},
        "input": prompt_id,
    }
    for _ in range(2):
        await create(stateful.sdk, **body)
    assert len(backend.requests) == 1
    await stateful.post(f"/prompts/{prompt_id}", json={**TEMPLATE, "instructions": "{{customer}}!"})
    await create(stateful.sdk, **body)
    assert len(backend.requests) == 2


async def test_what_one_replica_stores_another_uses_at_once(
    stateful: RunningServer, backend: ReplayBackend, store_url: str
) -> None:
    async with serve(HttpBackend("replay", backend.url, ""), store=store_url) as other:
        prompt_id = await created(stateful, instructions="One")
        await create(other.sdk, model="m", prompt={"id": prompt_id})
        await other.post(f"/prompts/{prompt_id}", json={"instructions": "Two"})
        await create(stateful.sdk, model="m", prompt={"id": prompt_id})
        assert [one["messages"][0]["content"] for one in backend.requests[-2:]] == ["One", "Two"]


async def test_prompts_of_the_settings_can_be_used_and_read_and_not_changed(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    config = PromptConfig(instructions="Help {{customer}}.", model="m", version=3)
    stateful.parts.objects.named_prompts = named_prompts({"support": config, "other": config})
    await create(
        stateful.sdk, prompt={"id": "support", "version": "3", "variables": {"customer": "Ada"}}
    )
    assert backend.requests[-1]["messages"][0]["content"] == "Help Ada."
    status, error = await error_of(stateful, prompt={"id": "support", "version": "2"})
    assert (status, error["message"]) == (
        404,
        "Prompt with id 'support' and version '2' not found.",
    )

    status, displayed = await stateful.get("/prompts/support")
    assert (status, displayed["version"], displayed["is_default"], displayed["variables"]) == (
        200,
        3,
        True,
        ["customer"],
    )
    for method, path, body in (
        ("POST", "/prompts/support", {"instructions": "No."}),
        ("DELETE", "/prompts/support", None),
        ("POST", "/prompts/support/default_version", {"version": 3}),
    ):
        async with stateful.http.request(method, stateful.url + path, json=body) as reply:
            assert (reply.status, (await reply.json())["error"]["code"]) == (
                400,
                "read_only_prompt",
            )


async def test_the_console_shows_the_request_and_what_the_backend_received(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    prompt = naming(await created(stateful))
    response = await create(stateful.sdk, prompt=prompt)
    url = f"{stateful.url.removesuffix('/v1')}/admin/v1/responses/{response.id}"
    async with stateful.http.get(f"{url}/request") as reply:
        request = (await reply.json())["request"]
    assert (request["prompt"], request["input"]) == (prompt, "When?")
    assert "instructions" not in request
    async with stateful.http.get(f"{url}/calls") as reply:
        (call,) = (await reply.json())["data"]
    expected = [("You help Ada.",), ("About tides:",), ("When?",)]
    assert [(one["content"],) for one in call["request"]["messages"]] == expected


async def test_a_backend_that_speaks_responses_receives_the_messages() -> None:
    model = ReplayBackend(answering([message("At nine.")]), speaks_responses=True)
    options = {"n": BackendOptions(api="responses")}
    async with model.serve(), serve(HttpBackend("n", model.url), shares=options) as server:
        messages = [*TEMPLATE["messages"], {"role": "assistant", "content": "Yes?"}]  # type: ignore[misc]
        prompt = naming(await created(server, **{**TEMPLATE, "messages": messages}))
        await create(server.sdk, prompt=prompt)
    (sent,) = model.requests
    assert "prompt" not in sent
    assert (sent["instructions"], sent["temperature"]) == ("You help Ada.", 0.25)
    assert [(one["role"], one["content"][0]["text"]) for one in sent["input"]] == [
        ("user", "About tides:"),
        ("assistant", "Yes?"),
        ("user", "When?"),
    ]


async def test_the_library_takes_prompts(backend: ReplayBackend) -> None:
    settings = Settings(
        backends=[BackendConfig(url=backend.url)],
        store="sqlite://",
        prompts={"support": PromptConfig(**{**TEMPLATE, "defaults": {"temperature": 0.25}})},
    )

    def use() -> None:
        with Antiphon(settings) as client:
            response = client.responses.create(input="When?", prompt=naming("support"))
            assert response.prompt == naming("support")
            with client.responses.stream(input="When?", prompt=naming("support")) as stream:
                assert [event.type for event in stream][-1] == "response.completed"
            assert (
                client.responses.input_tokens.count(
                    input="When?", prompt=naming("support")
                ).input_tokens
                > 10
            )
            with pytest.raises(ClientError, match="Prompt with id 'none' not found"):
                client.responses.create(input="When?", prompt={"id": "none"})

    await asyncio.to_thread(use)
    assert [one["messages"] for one in backend.requests] == [SEEN, SEEN]
