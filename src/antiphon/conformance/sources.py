"""Who says so: the sources that requirements name."""

SECTIONS = {
    0: "headlines",
    1: "endpoints",
    2: "parameters",
    3: "the response object",
    4: "stream events",
    5: "items",
    6: "tools",
    7: "server-sent events",
    8: "WebSocket mode",
    9: "background, resume, cancel",
    10: "state and storage",
    11: "compaction",
    12: "webhooks",
    13: "errors",
    14: "headers",
    15: "prompt caching",
    16: "orders of events",
    17: "Open Responses",
    18: "adjacent endpoints",
}
"""The sections of the Responses API's specification that a `spec` source names by number."""

SOURCES = {
    "spec": "The Responses API as of November 2026: the types of the official SDKs, OpenAI's documentation, and what "
    "was observed of OpenAI's server.",
    "chat-api": "The reference of the Chat Completions API at OpenAI, with the types of the official SDKs.",
    "open-responses": "The rules of the Open Responses specification.",
    "sse": "Server-sent events in the HTML standard.",
    "http": "HTTP: RFC 9110, RFC 9112 and the Fetch standard.",
    "client": "What clients were seen to insist on, by breaking one thing at a time.",
    "issue": "A thread in the issue tracker of a server or a client, in which users lost something.",
}
"""What the first word of a source stands for."""


def explained(source: str) -> str:
    """Return a source as a reader sees it: `spec 13 (errors)`."""
    kind, _, detail = source.partition(" ")
    number = detail.partition(",")[0].partition(" ")[0]
    named = {str(section): name for section, name in SECTIONS.items()}
    return f"{source} ({named[number]})" if kind == "spec" and number in named else source
