"""`/v1/prompts` on both stores: prompts, their versions, and what is rejected."""

from typing import Any

import pytest

from antiphon.build.prompts import named_prompts
from antiphon.config import PromptConfig
from antiphon.objects import prompts
from antiphon.protocol.validation.prompts import MOST_TEMPLATE
from tests.support.server import RunningServer

TEMPLATE = {
    "name": "support",
    "instructions": "You help {{ customer }}.",
    "messages": [
        {"role": "user", "content": [{"type": "input_text", "text": "{{customer}}: {{topic}}"}]}
    ],
    "model": "m",
    "defaults": {"temperature": 0.25, "tools": [{"type": "web_search"}]},
}


async def built(server: RunningServer, **template: Any) -> dict[str, Any]:
    status, prompt = await server.post("/prompts", json=template or TEMPLATE)
    assert status == 200, prompt
    return prompt


async def deleted(server: RunningServer, path: str) -> tuple[int, Any]:
    async with server.http.delete(server.url + path) as reply:
        return reply.status, await reply.json()


async def test_a_prompt_is_created_read_and_deleted(stateful: RunningServer) -> None:
    prompt = await built(stateful)
    assert prompt["id"].startswith("pmpt_")
    assert set(prompt["id"].removeprefix("pmpt_")) <= set("0123456789abcdef")
    created = prompt.pop("created_at")
    assert abs(created - stateful.parts.run.now()) < 60
    messages = [{"type": "message", **TEMPLATE["messages"][0]}]
    assert prompt == {
        "id": prompt["id"],
        "object": "prompt",
        "version": 1,
        "is_default": True,
        **TEMPLATE,
        "messages": messages,
        "variables": ["customer", "topic"],
    }
    path = f"/prompts/{prompt['id']}"
    assert await stateful.get(path) == (200, {**prompt, "created_at": created})
    assert await deleted(stateful, path) == (
        200,
        {"id": prompt["id"], "object": "prompt.deleted", "deleted": True},
    )
    for status, reply in (await stateful.get(path), await deleted(stateful, path)):
        assert (status, reply["error"]["message"]) == (
            404,
            f"Prompt with id '{prompt['id']}' not found.",
        )


async def test_versions_are_added_and_never_change(stateful: RunningServer) -> None:
    path = f"/prompts/{(await built(stateful))['id']}"
    _, second = await stateful.post(path, json={"instructions": "Two {{a}}"})
    _, third = await stateful.post(
        path, json={"instructions": "Three", "name": "new", "set_as_default": False}
    )
    assert (second["version"], second["is_default"], second["name"]) == (2, True, "support")
    assert (third["version"], third["is_default"], third["name"]) == (3, False, "new")
    assert (await stateful.get(path))[1] == second
    assert (await stateful.get(f"{path}?version=3"))[1] == third
    _, first = await stateful.get(f"{path}?version=1")
    assert (first["version"], first["is_default"], first["model"]) == (1, False, "m")

    _, page = await stateful.get(f"{path}/versions?limit=2")
    assert ([one["version"] for one in page["data"]], page["has_more"], page["last_id"]) == (
        [3, 2],
        True,
        "2",
    )
    _, page = await stateful.get(f"{path}/versions?after=2")
    assert ([one["version"] for one in page["data"]], page["has_more"]) == ([1], False)
    _, page = await stateful.get(f"{path}/versions?order=asc")
    assert [one["version"] for one in page["data"]] == [1, 2, 3]

    for wanted in (1, "3"):
        status, changed = await stateful.post(f"{path}/default_version", json={"version": wanted})
        assert (status, changed["version"], changed["is_default"]) == (200, int(wanted), True)
        assert (await stateful.get(path))[1] == changed
    status, reply = await stateful.post(f"{path}/default_version", json={"version": 4})
    assert (status, reply["error"]["code"]) == (404, None)
    for wrong in ("x", "", 0, None):
        assert (await stateful.post(f"{path}/default_version", json={"version": wrong}))[0] == 400


async def test_prompts_are_listed_in_pages_with_those_of_the_settings_as_the_oldest(
    stateful: RunningServer,
) -> None:
    named = {name: PromptConfig(instructions=name) for name in ("first", "second")}
    stateful.parts.objects.named_prompts = named_prompts(named)
    listed_before: Any = (await stateful.get("/prompts?limit=100"))[1]["data"]
    for one in listed_before:
        if one["id"] not in named:
            await deleted(stateful, f"/prompts/{one['id']}")
    ids = ["first", "second", *[(await built(stateful))["id"] for _ in range(3)]]
    for order, expected in (("asc", ids), ("desc", ids[::-1])):
        for limit in (1, 2, 3, 4, 100):
            listed: list[str] = []
            after = ""
            has_more = True
            while has_more:
                _, page = await stateful.get(f"/prompts?order={order}&limit={limit}{after}")
                listed += [one["id"] for one in page["data"]]
                assert (page["first_id"], page["last_id"]) == (page["data"][0]["id"], listed[-1])
                after = f"&after={listed[-1]}"
                has_more = page["has_more"]
            assert listed == expected
    status, reply = await stateful.get("/prompts?after=pmpt_none")
    assert (status, reply["error"]["param"]) == (400, "after")
    for path in ("/prompts/first/versions?after=2", "/prompts/first/versions"):
        assert [one["version"] for one in (await stateful.get(path))[1]["data"]] == [1]


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({}, "missing_required_parameter", "instructions"),
        ({"name": "n", "messages": []}, "missing_required_parameter", "instructions"),
        ({"instructions": 1}, "invalid_type", "instructions"),
        ({"instructions": "x", "template": "y"}, "unknown_parameter", "template"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "invalid_value", "messages[0].role"),
        ({"messages": [{"type": "function_call"}]}, None, None),
        (
            {"instructions": "x", "defaults": {"temperature": 9}},
            "decimal_above_max_value",
            "defaults.temperature",
        ),
        (
            {"instructions": "x", "defaults": {"stream": True}},
            "unknown_parameter",
            "defaults.stream",
        ),
        (
            {
                "instructions": "x",
                "defaults": {"text": {"format": {"type": "json_schema", "name": "n"}}},
            },
            "missing_required_parameter",
            "defaults.text.format.schema",
        ),
        (
            {
                "instructions": "x",
                "defaults": {
                    "tools": [
                        {
                            "type": "mcp",
                            "server_label": "l",
                            "server_url": "https://a/",
                            "authorization": "s",
                        }
                    ]
                },
            },
            "unsupported_value",
            "defaults.tools",
        ),
    ],
)
async def test_a_template_that_is_wrong_is_rejected(
    stateful: RunningServer, body: dict[str, Any], code: str | None, param: str | None
) -> None:
    path = f"/prompts/{(await built(stateful))['id']}"
    for one in ("/prompts", path):
        status, reply = await stateful.post(one, json=body)
        assert status == 400, reply
        if code is not None:
            assert (reply["error"]["code"], reply["error"]["param"]) == (code, param)


async def test_a_template_has_a_largest_size(stateful: RunningServer) -> None:
    status, reply = await stateful.post("/prompts", json={"instructions": "x" * MOST_TEMPLATE})
    assert (status, "262,144" in reply["error"]["message"]) == (413, True)


async def test_a_tenant_has_so_many_versions_and_no_more(
    stateful: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/prompts/{(await built(stateful))['id']}"
    monkeypatch.setattr(prompts, "MOST_VERSIONS", 1)
    for one in ("/prompts", path):
        status, reply = await stateful.post(one, json=TEMPLATE)
        assert (status, reply["error"]["code"]) == (429, "prompts_limit_reached")


@pytest.mark.parametrize(
    "path", ["/prompts/pmpt_x", "/prompts/pmpt_x/versions", "/prompts/pmpt_x?version=1"]
)
async def test_an_unknown_prompt_is_a_404(stateful: RunningServer, path: str) -> None:
    status, reply = await stateful.get(path)
    assert (status, reply["error"]["code"], reply["error"]["param"]) == (404, None, None)
