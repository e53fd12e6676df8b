"""Files in messages: which of them are copied into a container, where, how often, and why some are
not.
"""

import base64
from collections.abc import AsyncIterator, Sequence
from hashlib import sha256
from typing import Any

import pytest
from msgspec import convert

from antiphon.protocol.items.messages import InputItem
from antiphon.protocol.tools import CodeInterpreterTool
from antiphon.tools.base import ToolOutcome, Use
from antiphon.tools.code import inputs
from antiphon.tools.code.content import FetchedContent
from antiphon.tools.code.tool import CodeTools
from tests.support.containers import MemoryContainers, MemoryContent
from tests.support.fake_machines import FakeSandbox

AUTO = CodeInterpreterTool(container={"type": "auto"})
ID = "cntr_1"


class Talk:
    """A conversation with code in one container."""

    def __init__(
        self, store: MemoryContainers | None = None, content: MemoryContent | None = None
    ) -> None:
        self.store, self.content, self.sandbox = (
            store or MemoryContainers(),
            content or MemoryContent(),
            FakeSandbox(),
        )
        self.tools = CodeTools(self.sandbox, self.store, self.content, "worker_1")
        self.items: list[InputItem] = []

    def send_text(self, *parts: dict[str, Any], role: str = "user") -> None:
        self.add(type="message", role=role, content=[*parts])

    def add(self, **item: Any) -> None:
        self.items.append(convert(item, InputItem))

    async def run(self, code: str, tenant: str = "") -> ToolOutcome:
        use = Use(
            AUTO,
            "code_interpreter",
            {"code": code},
            tenant,
            container_id=ID,
            conversation=lambda: self.items,
        )
        result = await self.tools.run(use)
        status = "failed" if result.is_failed else "completed"
        self.add(type="code_interpreter_call", id="ci_1", container_id=ID, code=code, status=status)
        return result

    async def names(self) -> Sequence[str]:
        return sorted(eval(logs(await self.run("list(files)"))[0]))


@pytest.fixture
async def talk() -> AsyncIterator[Talk]:
    one = Talk()
    yield one
    await one.tools.close()


def logs(result: ToolOutcome) -> list[str]:
    return [one["logs"] for one in result.fields["outputs"] if one["type"] == "logs"]


def by_data(content: bytes, filename: str = "a.csv") -> dict[str, Any]:
    return {
        "type": "input_file",
        "filename": filename,
        "file_data": base64.b64encode(content).decode(),
    }


def by_id(file_id: str) -> dict[str, Any]:
    return {"type": "input_file", "file_id": file_id}


async def test_a_file_by_data_is_there_under_its_name_and_the_model_reads_its_path(
    talk: Talk,
) -> None:
    talk.send_text({"type": "input_text", "text": "Sum it."}, by_data(b"1,2"))

    result = await talk.run("files")

    assert logs(result) == ["{'a.csv': b'1,2'}"]
    assert " in the container: /mnt/data/a.csv." in str(result.stated)
    assert result.files == []
    assert talk.store.rows[ID]["/mnt/data/a.csv"].source == "user"


async def test_a_file_by_id_shares_its_blob_and_is_there_once(talk: Talk) -> None:
    talk.content.upload("", "file-1", "b.csv", b"3,4")
    talk.send_text(by_id("file-1"), by_id("file-1"))

    result = await talk.run("files")

    assert logs(result) == ["{'file-1-b.csv': b'3,4'}"]
    assert talk.store.rows[ID]["/mnt/data/file-1-b.csv"].blob == "row:file-1"
    assert str(result.stated).count("/mnt/data/file-1-b.csv") == 1


async def test_the_tool_and_a_message_name_the_same_file(talk: Talk) -> None:
    talk.content.upload("", "file-1", "b.csv", b"3,4")
    talk.send_text(by_id("file-1"))
    tool = CodeInterpreterTool(container={"type": "auto", "file_ids": ["file-1"]})

    result = await talk.tools.run(
        Use(
            tool,
            "code_interpreter",
            {"code": "files"},
            container_id=ID,
            conversation=lambda: talk.items,
        )
    )

    assert logs(result) == ["{'file-1-b.csv': b'3,4'}"] and "/mnt/data/file-1-b.csv" in str(
        result.stated
    )


async def test_a_file_is_copied_once_and_does_not_come_back_when_code_deletes_it(
    talk: Talk,
) -> None:
    talk.content.upload("", "file-1", "b.csv", b"3,4")
    talk.send_text(by_data(b"1,2"), by_id("file-1"))
    await talk.run("files.clear()")

    second = await talk.run("files")

    assert logs(second) == ["{}"] and "Files of the user" not in str(second.stated)
    assert talk.store.paths(ID) == []


async def test_a_file_of_a_later_message_is_added(talk: Talk) -> None:
    talk.send_text(by_data(b"1", "a.csv"))
    await talk.run("1")
    talk.send_text(by_data(b"2", "b.csv"))

    assert await talk.names() == ["a.csv", "b.csv"]
    assert talk.sandbox.machines[0].put_names == ["a.csv", "b.csv"]


async def test_another_file_of_the_same_name_has_a_digest_in_its_name(talk: Talk) -> None:
    talk.send_text(by_data(b"1"), by_data(b"2"), by_data(b"1"), by_data(b"2"))

    assert await talk.names() == [f"a-{sha256(b'2').hexdigest()[:8]}.csv", "a.csv"]


async def test_a_new_container_and_a_call_that_failed_copy_again(talk: Talk) -> None:
    talk.send_text(by_data(b"1"))
    talk.add(
        type="code_interpreter_call",
        id="ci_0",
        container_id="cntr_other",
        code="1",
        status="completed",
    )
    talk.add(type="code_interpreter_call", id="ci_0", container_id=ID, code="1", status="failed")

    assert await talk.names() == ["a.csv"]


async def test_files_before_a_completed_command_were_copied(talk: Talk) -> None:
    talk.send_text(by_data(b"1"))
    environment = {"type": "container_reference", "container_id": ID}
    action = {"commands": ["rm a.csv"]}
    talk.add(
        type="shell_call",
        call_id="call_1",
        action=action,
        environment=environment,
        status="completed",
    )

    assert await talk.names() == []


async def test_only_files_of_the_user_are_copied(talk: Talk) -> None:
    talk.send_text(by_data(b"1"), role="developer")
    talk.add(type="function_call_output", call_id="call_1", output=[by_data(b"1")])

    assert await talk.names() == []


async def test_images_by_data_url_are_files_and_images_elsewhere_are_not(talk: Talk) -> None:
    url = f"data:image/png;base64,{base64.b64encode(b'png').decode()}"
    talk.send_text(
        {"type": "input_image", "image_url": url},
        {"type": "input_image", "image_url": "https://a.example/b.png"},
    )

    assert await talk.names() == ["image.png"]


async def test_a_file_by_url_has_the_name_in_its_url_and_an_extension_of_its_type(
    talk: Talk,
) -> None:
    talk.content.pages = {
        "https://a.example/x%20y.csv?q=1": FetchedContent(b"1", "text/plain"),
        "https://a.example/report": FetchedContent(b"2", "application/pdf"),
    }
    talk.send_text(*({"type": "input_file", "file_url": url} for url in talk.content.pages))

    assert await talk.names() == ["report.pdf", "x y.csv"]


async def test_a_file_that_cannot_be_copied_is_named_with_the_reason_and_the_call_runs(
    talk: Talk,
) -> None:
    talk.content.upload("other", "file-2", "secret.csv", b"canary")
    talk.send_text(
        by_id("file-2"),
        {"type": "input_file", "file_url": "https://a.example/gone.csv"},
        {"type": "input_file", "filename": "bad.csv", "file_data": "%%%"},
        by_data(b"1"),
    )

    result = await talk.run("files")

    assert logs(result) == ["{'a.csv': b'1'}"] and not result.is_failed
    assert "The user's file file-2 was not copied: it does not exist any more." in str(
        result.stated
    )
    assert "The user's file gone.csv was not copied: it could not be fetched." in str(result.stated)
    assert "The user's file bad.csv was not copied: its data is not base64." in str(result.stated)
    assert "canary" not in str(result.stated) and len(talk.content.blobs) == 2


async def test_files_beyond_the_room_of_the_container_are_named(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("antiphon.tools.code.tool.MOST_BYTES", 10)
    small = Talk(talk.store, talk.content)
    small.content.upload("", "file-1", "large.csv", b"1" * 11)
    small.send_text(by_id("file-1"), by_data(b"2" * 11, "b.csv"), by_data(b"3", "c.csv"))

    result = await small.run("files")
    await small.tools.close()

    assert logs(result) == ["{'c.csv': b'3'}"]
    assert "file-1 was not copied: the container" in str(result.stated)
    assert "b.csv was not copied: the container" in str(result.stated)


async def test_more_files_than_a_container_holds_are_left_out(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "MOST_FILES", 2)
    talk.send_text(*(by_data(b"1", f"{n}.csv") for n in range(20)))

    result = await talk.run("sorted(files)")

    assert logs(result) == ["['0.csv', '1.csv']"]
    assert "The user's file 2.csv was not copied" in str(result.stated)
    assert "8 more files of the user were" in str(result.stated)


async def test_files_that_the_store_does_not_take_are_named_and_their_blobs_are_deleted(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*args: Any, **more: Any) -> None:
        return None

    monkeypatch.setattr(talk.store, "put_container_files", refuse)
    talk.content.upload("", "file-1", "b.csv", b"3,4")
    talk.send_text(by_data(b"1"), by_id("file-1"))

    result = await talk.run("files")

    assert logs(result) == ["{}"] and "The user's file a.csv was not copied" in str(result.stated)
    assert set(talk.content.blobs) == {"row:file-1"}


@pytest.mark.parametrize(
    ("filename", "name"),
    [
        ("../a/b.csv", ".._a_b.csv"),
        ("..", "file"),
        ("", "file"),
        ("a\x00\nb\u202e.csv", "a__b_.csv"),
        ("-rf", "-rf"),
        (f"{'x' * 300}.csv", f"{'x' * 251}.csv"),
    ],
)
async def test_names_are_one_path_component(talk: Talk, filename: str, name: str) -> None:
    talk.send_text(by_data(b"1", filename))

    assert await talk.names() == [name]
