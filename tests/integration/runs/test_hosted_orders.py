"""What tools of this server make comes in the orders of the specification's traces and of OpenAI's
own streams.

The model's answers are written so that the same items come; then the events' types are compared in
their order, and the fields of the items of tools. Every difference stands in a table with its
reason, and one that is gone fails too.
"""

import json
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from antiphon.protocol.sources import CreatedFile
from antiphon.testing import assert_event_stream
from antiphon.tools.base import ToolListing, ToolOutcome, Use
from antiphon.tools.files.tool import FileSearch
from antiphon.tools.registry import Toolset
from tests.support.notebooks import Notebooks
from tests.support.parts import scripted_parts, stream
from tests.support.recordings import FOLDER, MISSING
from tests.support.replay import delta
from tests.support.shelves import STORE, Shelves, hit
from tests.support.tools import Servers, Web
from tests.unit.testing.events.recordings import read_sse, read_trace, recordings, traces

Events = list[dict[str, Any]]

HOSTED = (
    *("mcp_list_tools", "mcp_call", "mcp_approval_request", "web_search_call", "file_search_call"),
    *("code_interpreter_call", "shell_call", "shell_call_output"),
)

DIFFERENCES = {
    (
        "web_search_call",
        "added",
        "action",
    ): "the trace opens with the kind of action, OpenAI's streams with none",
}
"""(item, when, field) that only one side has -> why."""


def is_there(path: Path) -> bool:
    return any(f'"{kind}"' in path.read_text("utf-8", "replace") for kind in HOSTED)


STREAMED = ('"file_search_call"', '"code_interpreter_call"')

FILES = [
    *(path for path in traces() if is_there(path)),
    *(path for path in recordings() if path.name.startswith("openai-") and is_there(path)),
    *sorted(
        path
        for path in FOLDER.glob("hosted/*.sse")
        if any(each in path.read_text("utf-8") for each in STREAMED)
    ),
]

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=MISSING)


def read(path: Path) -> Events:
    return read_trace(path) if path.suffix == ".jsonl" else read_sse(path)


def order(events: Events) -> list[str]:
    """The types in their order, deltas that follow each other as one.

    Of reasoning only that there is some: OpenAI hides it, chat models say it. Of a call's arguments
    only that they are done: OpenAI sends them in deltas or at once.
    """
    kinds = {event["output_index"]: event["item"]["type"] for event in events if "item" in event}
    reported = [
        (event["type"], kinds.get(event.get("output_index", -1), ""))
        for event in events
        if (
            kinds.get(event.get("output_index", -1)) != "reasoning"
            or "output_item" in event["type"]
        )
        and event["type"] != "response.mcp_call_arguments.delta"
    ]
    return [f"{kind} {name}" for (name, kind), _ in groupby(reported)]


def fields(events: Events) -> set[tuple[str, str, str]]:
    """The fields of the tools' items, each as (item, when, field)."""
    return {
        (event["item"]["type"], event["type"].rpartition(".")[2], field)
        for event in events
        if event.get("item", {}).get("type") in HOSTED
        for field in event["item"]
    }


STATED = ("response.output_text.delta", "response.output_text.annotation.added")


def _stated(event: dict[str, Any]) -> str:
    """What a model says for this event: a delta, or the mark that cites a file."""
    is_file = event.get("annotation", {}).get("type") == "file_citation"
    return "【1†source】" if is_file else str(event.get("delta", ""))


class Script:
    """What a model says, and what its tools answer, for the same items to come."""

    def __init__(self, events: Events) -> None:
        self.servers, self.web, self.shelves = Servers(), Web(), Shelves()
        self.notebooks = Notebooks()
        self.answers: list[Any] = []
        self.tools: list[dict[str, Any]] = []
        self.results: list[dict[str, Any]] = []
        self._sources: dict[str, str] = {}
        self._thought: list[dict[str, Any]] = []
        self._deltas = [_stated(event) for event in events if event["type"] in STATED]
        self.web.run = self._searched  # type: ignore[method-assign]
        self.servers.run = self._called  # type: ignore[method-assign]
        self.notebooks.answer = lambda use: self.results.pop(0)["result"]
        for item in events[-1]["response"]["output"]:
            getattr(self, f"_{item['type']}")(item)
        self._emit(delta("stop"))  # where the last item is a call, the model has nothing to add

    def _emit(self, *chunks: dict[str, Any]) -> None:
        self.answers.append([*self._thought, *chunks])
        self._thought = []

    def _call(self, name: str, arguments: str) -> None:
        function = {"name": name, "arguments": arguments}
        call = {
            "index": 0,
            "id": f"call_{len(self.answers)}",
            "type": "function",
            "function": function,
        }
        self._emit(delta(tool_calls=[call]), delta("tool_calls"))

    def _reasoning(self, item: dict[str, Any]) -> None:
        self._thought = [delta(reasoning_content="Hm.")]

    def _mcp_list_tools(self, item: dict[str, Any]) -> None:
        self.servers.lists[item["server_label"]] = ToolListing(item["tools"])
        self.offer(item["server_label"], "never")

    def offer(self, label: str, approval: str) -> None:
        url = "https://tools.example/mcp"
        self.tools.append(
            {"type": "mcp", "server_label": label, "server_url": url, "require_approval": approval}
        )

    def _mcp_call(self, item: dict[str, Any]) -> None:
        self.results.append(item)
        self._call(f"{item['server_label']}__{item['name']}", item["arguments"])

    def _mcp_approval_request(self, item: dict[str, Any]) -> None:
        self.tools[-1]["require_approval"] = "always"
        self._call(f"{item['server_label']}__{item['name']}", item["arguments"])

    def _web_search_call(self, item: dict[str, Any]) -> None:
        if {"type": "web_search"} not in self.tools:
            self.tools.append({"type": "web_search"})
        self.results.append(item)
        self._call("web_search", json.dumps({"query": item["action"]["query"]}))

    def _file_search_call(self, item: dict[str, Any]) -> None:
        self.tools.append({"type": "file_search", "vector_store_ids": [STORE]})
        self._call("file_search", json.dumps({"queries": item["queries"]}))

    def _code_interpreter_call(self, item: dict[str, Any]) -> None:
        self._offer_once({"type": "code_interpreter", "container": item["container_id"]})
        self.notebooks.known.add(item["container_id"])
        self.results.append({"result": ToolOutcome("ran", {"outputs": item["outputs"] or []})})
        self._call("python", json.dumps({"code": item["code"]}))

    def _shell_call(self, item: dict[str, Any]) -> None:
        self._offer_once({"type": "shell", "environment": item["environment"]})
        self.notebooks.known.add(item["environment"]["container_id"])
        self._call("shell", json.dumps({"commands": item["action"]["commands"]}))

    def _shell_call_output(self, item: dict[str, Any]) -> None:
        self.results.append({"result": ToolOutcome("ran", {"output": item["output"]})})

    def _function_call(self, item: dict[str, Any]) -> None:
        self.tools.append(
            {"type": "function", "name": item["name"], "parameters": {"type": "object"}}
        )
        self._call(item["name"], item["arguments"])

    def _offer_once(self, tool: dict[str, Any]) -> None:
        self.tools += [] if tool in self.tools else [tool]

    def _message(self, item: dict[str, Any]) -> None:
        for one in (one for part in item["content"] for one in part.get("annotations", ())):
            if one["type"] == "file_citation":
                self.shelves.stores[""] = {STORE: [hit("a passage", one["filename"])]}
            elif one["type"] == "container_file_citation":
                self._make(one)
            else:
                self._sources |= {one["url"]: one["title"]}
        is_linked = any(url in "".join(self._deltas) for url in self._sources)
        deltas = self._deltas or [part["text"] for part in item["content"]]
        reported = deltas if is_linked or not self._sources else ["See ", "[1]"]
        self._emit(*(delta(content=each) for each in reported), delta("stop"))

    def _make(self, citation: dict[str, Any]) -> None:
        """Have the last call of code make the file that is cited."""
        name = citation["filename"]
        is_figure = citation["end_index"] == 0
        file = CreatedFile(
            citation["container_id"], citation["file_id"], f"/mnt/data/{name}", name, is_figure
        )
        result = self.results[-1]["result"]
        self.results[-1]["result"] = replace(result, files=[*result.files, file])

    async def _called(self, use: Use) -> ToolOutcome:
        item = self.results.pop(0)
        return ToolOutcome(
            "said",
            {"output": item["output"], "error": item["error"]},
            is_failed=bool(item["error"]),
        )

    async def _searched(self, use: Use) -> ToolOutcome:
        item = self.results.pop(0)
        return ToolOutcome("found", {"action": item["action"]}, sources=self._sources)

    async def play(self, **body: Any) -> Events:
        """Have a response made of it."""
        created, _ = scripted_parts(*self.answers)
        created.run.toolset = Toolset(
            web_search=self.web, mcp=self.servers, file_search=FileSearch(self.shelves)
        )
        created.run.toolset = replace(created.run.toolset, code=self.notebooks)
        return await stream(created, tools=self.tools, **body)


async def ours(path: Path) -> Events:
    """What this server makes of the same."""
    events = read(path)
    script = Script(events)
    if path.stem != "mcp_approved_turn2":
        return await script.play(
            include=["web_search_call.action.sources", "file_search_call.results"]
        )
    return await approved(script)


async def approved(script: Script) -> Events:
    """The second turn of an approval, whose first one lists and asks."""
    item = script.results[0]
    created, _ = scripted_parts(script.answers[0], *script.answers[1:])
    listed = [
        {
            "name": item["name"],
            "description": "d",
            "input_schema": {"type": "object"},
            "annotations": None,
        }
    ]
    script.servers.lists[item["server_label"]] = ToolListing(listed)
    script.offer(item["server_label"], "always")
    created.run.toolset = Toolset(mcp=script.servers)
    first = await stream(created, tools=script.tools)
    request = first[-1]["response"]["output"][-1]
    answer = {
        "type": "mcp_approval_response",
        "approval_request_id": request["id"],
        "approve": True,
    }
    chain = first[-1]["response"]["id"]
    return await stream(created, tools=script.tools, input=[answer], previous_response_id=chain)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem[-60:])
async def test_the_events_come_in_the_same_order(path: Path) -> None:
    events = await ours(path)

    assert_event_stream(events)
    recorded = read(path)
    if "response.output_text.delta" not in {
        event["type"] for event in recorded
    }:  # its text was cut out of it
        events = [event for event in events if event["type"] != "response.output_text.delta"]
    assert order(events) == order(recorded)


@pytest.mark.wide
async def test_the_items_of_tools_have_the_same_fields() -> None:
    differing: set[tuple[str, str, str]] = set()
    for path in FILES:
        differing |= fields(await ours(path)) ^ fields(read(path))

    assert differing == DIFFERENCES.keys()


def test_every_kind_of_item_is_among_what_is_compared() -> None:
    kinds = {kind for path in FILES for kind, _, _ in fields(read(path))}

    assert kinds == set(HOSTED)
    assert len(FILES) >= 9


def cited(events: Events) -> list[tuple[str, str, str]]:
    """Each citation of a file: its file, the text before it and the text behind it, both without
    blanks.
    """
    parts = [
        part
        for item in events[-1]["response"]["output"]
        for part in item.get("content", [])
        if "text" in part
    ]
    return [
        (
            one["filename"],
            "".join(part["text"][: one["index"]].split()),
            "".join(part["text"][one["index"] :].split()),
        )
        for part in parts
        for one in part.get("annotations", ())
    ]


SEARCHES = [path for path in FILES if path.parent.name == "hosted" and "file_search" in path.name]


@pytest.mark.parametrize("path", SEARCHES, ids=lambda path: path.stem)
async def test_files_are_cited_at_the_recorded_places(path: Path) -> None:
    events = read(path)

    assert cited(await ours(path)) == cited(events) != []


def citations(events: Events) -> list[dict[str, Any]]:
    """Each citation of a file that code made, as it stands in the text."""
    parts = [
        part
        for item in events[-1]["response"]["output"]
        for part in item.get("content") or []
        if "text" in part
    ]
    return [
        one
        for part in parts
        for one in part.get("annotations", ())
        if one["type"] == "container_file_citation"
    ]


MAKING = [path for path in FILES if "container_file_citation" in path.read_text("utf-8", "replace")]


@pytest.mark.parametrize("path", MAKING, ids=lambda path: path.stem)
async def test_created_files_are_cited_as_recorded(path: Path) -> None:
    events = read(path)

    assert citations(await ours(path)) == citations(events) != []
    assert len(MAKING) >= 2
