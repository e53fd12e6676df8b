"""One response with everything that its page shows."""

import json
from typing import Any

from tests.support.console.rows import summary

MCP = {
    "type": "mcp",
    "server_label": "tracker",
    "server_url": "https://tracker.example/mcp",
    "require_approval": "never",
}
ISSUES = json.dumps(
    [
        {"number": 418, "title": "TLS resumption fails behind the proxy", "labels": ["blocker"]},
        {"number": 431, "title": "Queue length is counted twice", "labels": ["blocker"]},
    ]
)
QUESTION = "Which of the open issues block the 2.4 release, and is the upstream TLS fix out yet?"
ANSWER = """Two issues block 2.4:

- **#418** TLS resumption fails behind the proxy. The [upstream fix](https://tls.example/releases) was released
  on 18 November, so this needs only the update.
- **#431** The queue's length is counted twice. No fix yet; nobody is assigned.

Everything else in the milestone is documentation."""  # noqa: E501 - the lines of a text


def span(kind: str, name: str, *times: int | None, error: str | None = None) -> dict[str, Any]:
    """Return a span; `times` are its start, its first token and its end in milliseconds."""
    start, first, end = (None if time is None else time * 1000 for time in times)
    return {
        "kind": kind,
        "name": name,
        "start_us": start,
        "first_us": first,
        "end_us": end,
        "error": error,
    }


def details(row: dict[str, Any]) -> dict[str, Any]:
    """Return the details of a response: a failover, two calls, two tools, a chain with a fork."""
    started = row["started_ms"]
    parents = [
        summary("0020", started_ms=started - 780_000, input="What is planned for 2.4?"),
        summary("0021", started_ms=started - 420_000, input="And who is on it?"),
    ]
    children = [
        summary("0022", started_ms=started + 90_000, input=QUESTION, model="deepseek-r1"),
        summary(
            "0023", started_ms=started + 18_000, input="Close the tickets that the fix resolves"
        ),
    ]
    spans = [
        span("call", "gpu-a", 416, None, 458, error="503"),
        span("call", "gpu-b", 462, 1078, 2312),
        span("tool", "tracker.search_issues", 2312, None, 3202),
        span("tool", "web_search", 2312, None, 3662),
        span("call", "gpu-b", 3662, 4072, 7418),
    ]
    items = [
        {"type": kind, "start_us": 1000 * start, "end_us": 1000 * end}
        for kind, start, end in (
            ("reasoning", 1080, 1720),
            ("mcp_call", 1730, 3202),
            ("web_search_call", 2010, 3662),
            ("reasoning", 4074, 5310),
            ("message", 5312, 7416),
        )
    ]
    notes = [
        {
            "code": "failover",
            "text": "Backend 'gpu-a' returned 503 (overloaded). 'gpu-b' was called 4 ms later, "
            "before any output.",
        },
        {
            "code": "ignored_tool",
            "text": "This server has no code_interpreter. The model did not receive this tool.",
        },
        {"code": "resumed", "text": "The client reconnected after event 148 and missed none."},
    ]
    return {
        "object": "response.details",
        "summary": row,
        "request_id": row["id"].replace("resp_", "req_"),
        "timeline": {
            "started_ms": started,
            "spans": spans if row["calls"] > 1 else spans[1:2],
            "items": items,
        },
        "notes": notes,
        "parents": parents,
        "children": children if row["calls"] > 1 else [],
        "siblings": [],
        "kept_until": started // 1000 + 30 * 86_400,
        "body": "stored" if row["store"] else "not_stored",
        "has_body": row["store"],
        "has_steps": False,
        "has_events": row["background"],
    }


def input_items() -> list[dict[str, Any]]:
    """Return the items of its input."""
    return [
        {
            "type": "message",
            "id": "msg_1",
            "role": "user",
            "content": [{"type": "input_text", "text": QUESTION}],
        }
    ]


def output() -> list[dict[str, Any]]:
    """Return the items of its output."""
    cite = {
        "type": "url_citation",
        "url": "https://tls.example/releases",
        "title": "TLS library 3.6.1",
        "start_index": 24,
        "end_index": 60,
    }
    file_cite = {
        "type": "file_citation",
        "file_id": "file-1",
        "filename": "release-notes-2.4.pdf",
        "index": 228,
    }
    return [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [],
            "content": [
                {
                    "type": "reasoning_text",
                    "text": "Look up the open issues of milestone 2.4 in the tracker, and the "
                    "changelog on the web.",
                }
            ],
        },
        {
            "type": "mcp_call",
            "id": "mcp_1",
            "status": "completed",
            "server_label": "tracker",
            "name": "search_issues",
            "arguments": '{"milestone": "2.4", "state": "open"}',
            "output": ISSUES,
        },
        {
            "type": "web_search_call",
            "id": "ws_1",
            "status": "completed",
            "action": {
                "type": "search",
                "query": "tls library session resumption fix release notes",
                "sources": [{"type": "url", "url": "https://tls.example/releases"}],
            },
        },
        {
            "type": "file_search_call",
            "id": "fs_1",
            "status": "completed",
            "queries": ["issues that block release 2.4", "milestone 2.4 blocker"],
            "results": [
                {
                    "file_id": "file-1",
                    "filename": "release-notes-2.4.pdf",
                    "score": 0.9132,
                    "attributes": {"version": "2.4"},
                    "text": "Two issues block 2.4: the resumption of TLS sessions, and the length "
                    "of the queue.",
                    "vector_store_id": "vs_1",
                }
            ],
        },
        {
            "type": "message",
            "id": "msg_2",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": ANSWER, "annotations": [cite, file_cite]}],
        },
    ]


def body(row: dict[str, Any]) -> dict[str, Any]:
    """Return the stored response."""
    return {
        "id": row["id"],
        "object": "response",
        "status": row["status"],
        "model": row["served_model"] or row["model"],
        "output": output(),
        "usage": row["usage"],
        "error": None,
        "tools": [MCP | {"authorization": "••••••"}, {"type": "web_search"}],
    }


def request(row: dict[str, Any]) -> dict[str, Any]:
    """Return the request, rebuilt."""
    tools = [
        MCP | {"authorization": "••••••"},
        {"type": "web_search"},
        {"type": "file_search", "vector_store_ids": ["vs_1"]},
    ]
    rebuilt = {
        "model": row["model"],
        "input": QUESTION,
        "previous_response_id": row["previous_response_id"],
    }
    return {
        "object": "response.request",
        "is_rebuilt": True,
        "request": rebuilt | {"background": True, "stream": True, "tools": tools},
    }


def calls() -> dict[str, Any]:
    """Return the requests to backends, rebuilt."""
    tools = [
        {"type": "function", "function": {"name": name}}
        for name in ("tracker__search_issues", "web_search")
    ]
    sent = {
        "model": "qwen3-32b",
        "messages": [
            {"role": "user", "content": "What is planned for 2.4?"},
            {"role": "user", "content": QUESTION},
        ],
        "tools": tools,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    data = [
        {"backend": name, "model": "qwen3-32b", "path": "/v1/chat/completions", "request": sent}
        for name in ("gpu-a", "gpu-b")
    ]
    return {"object": "list", "is_rebuilt": True, "data": data, "has_more": False}


def events() -> list[dict[str, Any]]:
    """Return its events as they were stored."""
    kinds = ["response.created", "response.in_progress", "response.output_item.added"]
    deltas = [
        {"type": "response.output_text.delta", "delta": word, "item_id": "msg_2"}
        for word in ANSWER.split(" ")
    ]
    found: list[dict[str, Any]] = [{"type": kind} for kind in kinds]
    found += [*deltas, {"type": "response.output_item.done"}, {"type": "response.completed"}]
    return [event | {"sequence_number": number} for number, event in enumerate(found)]
