"""Tools that a client runs and that are no functions: custom, in namespaces, searched for, built in."""

from antiphon.conformance.requirement import Requirement, Table, capability, must, should

NAMES = {
    "shell": "shell",
    "local-shell": "local shell",
    "apply-patch": "patch",
    "computer": "computer",
}
"""The built-in tools that a client runs, by the first words of their requirements' names, as a sentence has them."""

WHOLE = {
    "shell": "a list of commands",
    "local-shell": "an action `exec` with its command",
    "apply-patch": "an operation on a path, and a diff unless it deletes",
    "computer": "its actions, each with a type",
}
"""What a call of each has, beside an id, a `call_id` and a status."""


def of_built_in(name: str, called: str) -> tuple[Requirement, ...]:
    """Return what is asked of a built-in tool."""
    area = f"responses:tools:{name}"
    history = should(f"{area}-history", "spec 5", f"A {called} call of the history is taken with its output.")
    return (
        should(f"{area}-told", "spec 6", f"A {called} tool is told back among the tools, or refused."),
        must(f"{area}-item", "spec 5", f"A {called} call has an id, a `call_id`, a status, and {WHOLE[name]}."),
        capability(should(f"{area}-used", "spec 6", f"The model uses the {called} tool where it must call one.")),
        capability(history) if name == "computer" else history,
    )


TABLE: Table = (
    should("responses:tools:custom-chosen", "spec 6", "A `tool_choice` that names a custom tool makes it be called."),
    must(
        "responses:tools:custom-output", "spec 5", "A custom tool's output, sent with `previous_response_id`, is taken."
    ),
    should("responses:tools:custom-history", "client codex", "A custom tool's call and output in a history are taken."),
    should("responses:tools:custom-parts", "spec 5", "A custom tool's output may be a list of parts."),
    capability(should("responses:tools:grammar", "spec 6", "A custom tool's `input` fits the tool's Lark grammar.")),
    should("responses:tools:grammar-bad", "spec 6", "A custom tool whose grammar is none is refused with a 4xx."),
    must(
        "responses:tools:namespace-output",
        "client codex",
        "The output of a namespace's tool, sent with `previous_response_id`, is taken.",
    ),
    should(
        "responses:tools:namespace-again",
        "client codex",
        "With such a call in the history the next one has `name` and `namespace` apart as well.",
    ),
    should(
        "responses:tools:namespace-history", "client codex", "A call with `namespace` in a history is taken as its own."
    ),
    should("responses:tools:namespace-told", "spec 6", "A namespace is told back among the tools, with its tools."),
    should("responses:tools:additional", "spec 5", "A tool of an input item `additional_tools` can be called."),
    should(
        "responses:tools:search-call",
        "client codex",
        "A search that the client does is a `tool_search_call` with `execution`, a `call_id` and arguments.",
    ),
    should("responses:tools:search-output", "client codex", "What the client found, a `tool_search_output`, is taken."),
    should("responses:tools:search-found", "client codex", "A deferred tool can be called once a search found it."),
    should("responses:tools:search-history", "client codex", "A search and its output in a history are taken."),
    *(requirement for name, called in NAMES.items() for requirement in of_built_in(name, called)),
)
