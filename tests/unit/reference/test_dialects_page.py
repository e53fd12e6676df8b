"""The page of dialects is generated from the table in the source.

`python -m tests.unit.reference.test_dialects_page --update` writes it.
"""

import sys
from collections.abc import Callable, Iterator

from antiphon.forwarding.chat_refusals import NO_CHAT, NO_CHAT_TOOLS
from antiphon.translation.dialects.dialect import USUAL, Dialect
from antiphon.translation.dialects.differences import DIFFERENCES
from antiphon.translation.dialects.table import DIALECTS
from antiphon.translation.from_chat.reasoning_tags import TAGS
from tests.support.pages import REFERENCE

PAGE = REFERENCE / "dialects.md"
COMMAND = "python -m tests.unit.reference.test_dialects_page --update"

INTRODUCTION = """\
<!-- Generated: python -m tests.unit.reference.test_dialects_page --update -->

# Dialects

Look up how Antiphon adapts requests to each family of model servers. Servers with a Chat Completions API differ, so
Antiphon has a dialect for each family; the evidence is in `src/antiphon/translation/dialects/`.

Antiphon detects the dialect of a backend from, in this order: `dialect` in the
[settings](settings.md#backendsdialect), its host, the `server` header and the `owned_by` in its list of models, and
its port. `antiphon models` shows the result. A backend that matches no family has the dialect `generic`.

If a backend rejects a parameter by name, Antiphon repeats the request without it, and omits it from further requests
for that model for a day. If a backend rejects tools, Antiphon [describes them in the
prompt](../guides/fix-tool-calls.md#models-without-tool-calling). [Other refusals](#differences-that-antiphon-learns)
teach what to send instead.

## Forms that every backend receives

Backends refuse some of what clients and models write. Antiphon sends these in the form that all families accept. What
the client reads and what is stored stay unchanged.

- **System and developer messages** at the beginning are one system message, together with the `instructions`. A later
  one becomes a user message between two lines that mark it, because chat templates reject it and gateways move it. The
  lines contain a token that users cannot guess, and that texts of users and tools cannot contain. A model that is known
  to accept [later system messages](settings.md#modelslate_system) receives it as one. `openai` and `azure` receive
  all as the client sent them.
- **Arguments of earlier calls** are a JSON object. Arguments that are not one, such as those of a call that was cut
  off, are sent as text inside one: `{"arguments": "…"}`.
- **Parameters of tools**, also of MCP servers, are an object with properties: `{"type": "object", "properties": {}}`
  for a tool without any. For all dialects but `openai` and `azure`, a root that is a choice (`oneOf`, `anyOf`), a sum
  (`allOf`) or a reference becomes an object with all properties, which requires what every alternative requires. The
  description lists the alternatives, and the arguments of a call are
  [checked](../guides/repair-model-output.md) against the schema that the client sent.
- **`stream`** is always sent, as true or false: some gateways stream if it is absent.
"""  # noqa: E501 - the lines of a text

SECTIONS: dict[str, str] = {
    "Detection and API": """\
**API** is the API that `api = "auto"` selects. *Responses*: the family's own Responses API offers more than
Antiphon's translation from Chat Completions (its reasoning, the tools that it runs). *Chat*: that API offers less, or
is unknown. *Messages*: Anthropic's own API, to which Antiphon translates a request in the form of Chat Completions.
*tested*: Antiphon sends one empty request to `/responses`; a reply that reports a missing model (400,
422) shows that the backend has this API. See [how to
choose](../operate/route-across-backends.md#use-backends-with-a-responses-api). The other tables concern Chat
Completions.

**Output limit** is the name of the parameter for `max_output_tokens`.
""",  # noqa: E501 - the lines of a text
    "Reasoning": """\
**Effort** is the parameter for `reasoning.effort`. `chat_template_kwargs` contains `enable_thinking`, which is false
for `none` and true for every other effort, for models such as Qwen's that control reasoning in their chat template;
`reasoning_effort` is sent in addition. If the backend rejects `chat_template_kwargs`, as vLLM does with Mistral's
tokenizer, only `reasoning_effort` is sent from then on.

**Returned reasoning** is the place in which the reasoning of earlier turns is sent back, and the turns to which this
applies. Signatures of calls always go back to the family that created them. LiteLLM puts Gemini's signature into the
id of a call, which is then too long for clients: they receive a short id, `call_signed_…`, and LiteLLM its own. A
client that keeps its own history can send such a call back without the reasoning item next to it, as pydantic-ai does.

With `store: false` nothing is stored here. A client that includes `reasoning.encrypted_content` receives the signature
there, and sends it back. For any other client the call has a longer id, `call_sealed_…`, which contains the encrypted
signature of LiteLLM or Gemini (about 600 to 1,400 characters). Send it back unchanged, in the call and in its output.
It is valid for the same tenant, on every server with the same keys; a backend of another family receives a short id
instead. Calls of `local_shell` always have short ids: send the reasoning item back with them.
""",  # noqa: E501 - the lines of a text
    "Tools and formats": """\
**Tool choice** lists the supported values; *modes* are `none`, `auto` and `required`. If a named function or
`allowed_tools` is not supported, Antiphon sends only the tools in question. If a call cannot be required at all, or
only of a named function and there are several, the request is rejected.

**Calls in text**: whether a call that the model writes as text, in one of these
[formats](../guides/fix-tool-calls.md#calls-written-as-text), becomes a tool call. Hosted services parse the calls of
their models themselves.

**JSON formats**: the supported types of `response_format`. The prompt describes every other format.

**Patterns**: whether the backend enforces a `pattern` in a schema. If so, the regular expression of a custom tool is
sent as one; otherwise, its input is only checked afterwards.

**Files**: the content part for files that are not text. Text files are part of the message for every backend.
""",  # noqa: E501 - the lines of a text
    "Parameters": """\
**Not sent**: common parameters that the family does not support. A hint is omitted; a request that needs the
parameter is rejected.

**Forwarded**: parameters outside the Responses API that the backend receives unchanged. `passthrough` of a backend
[replaces](parameters.md#parameters-of-local-servers) this list.
""",  # noqa: E501 - the lines of a text
    "Special behaviour": """\
- **one request at a time**: a new request would interrupt the current stream. All other requests wait, whatever
  `concurrency` says, and Antiphon does not request the list of models in the meantime.
- **streams hide errors**: a stream that ends without a reason is repeated as a request without streaming.
- **prompt cache**: the backend processes a prompt only from its first difference to an earlier prompt, so Antiphon
  [compares the prompts](../guides/reuse-prompt-caches.md).
- **tools in the prompt**: no `tools` are sent, as if the backend had rejected them. With **JSON**, a schema also
  restricts every output to JSON, for models that follow no other format.
- **output is checked**: Antiphon checks the output of the model, and
  [corrects what it can](../guides/repair-model-output.md).
- **weaker schemas**: the family rejects some JSON Schema keywords, so Antiphon removes them. It also remembers the
  keywords that a backend rejects.
- **text is continued**: if the last message of a request to the [Messages API](fronts.md) is the
  assistant's, the model continues it. Other families reject such a request.
- **answers are streamed**: also if the client requests none; the response is then put together here.
- **prompts are truncated**: the reported tokens are
  [compared with the request](../guides/run-local-models.md#when-a-backend-cuts-prompts-silently).
""",  # noqa: E501 - the lines of a text
}

REPORTED_BY = {"hosts": "", "ports": "port ", "owners": "`owned_by` ", "servers": "`server` "}
EFFORT_FORMS = {
    "reasoning_effort": "`reasoning_effort`",
    "reasoning": "`reasoning.effort`",
    "thinking": "`thinking` and `reasoning_effort`",
    "enable_thinking": "`enable_thinking`",
    "chat_template_kwargs": "`chat_template_kwargs` and `reasoning_effort`",
}
SPECIAL = {
    "one_at_a_time": "one request at a time",
    "streams_hide_errors": "streams hide errors",
    "prefix_cache": "prompt cache",
    "checks_answers": "output is checked",
    "unfit": "weaker schemas",
    "prefill": "text is continued",
    "cuts_prompts": "prompts are truncated",
    "always_streams": "answers are streamed",
}
TOOLS: dict[str, list[str]] = {
    "native": [],
    "prompt": ["tools in the prompt"],
    "schema": ["tools in the prompt, JSON"],
}
REPLAYS = {"tool_turns": "of turns with calls", "always": "of every turn"}
APIS = {
    "chat": "Chat",
    "responses": "Responses",
    "messages": "[Messages](../guides/use-claude-as-a-backend.md)",
    "probe": "tested",
}
CHOICES = {
    "full": "all",
    "named": "modes, a function",
    "functions": "`none`, `auto`, a function",
    "strings": "modes",
}


def reasoning_of(dialect: Dialect) -> str:
    if dialect.replay == "never":
        return "none"
    place = {"": "signed only", "think_tags": "in `<think>` tags", "thinking": "as thinking parts"}
    return f"{place.get(dialect.reasoning, f'`{dialect.reasoning}`')}, {REPLAYS[dialect.replay]}"


def quoted(names: set[str] | frozenset[str] | tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


COLUMNS: dict[str, dict[str, Callable[[Dialect], str]]] = {
    "Detection and API": {
        "Detected by": lambda one: ", ".join(
            word + f"`{value}`"
            for name, word in REPORTED_BY.items()
            for value in getattr(one, name)
        ),
        "API": lambda one: APIS[one.api],
        "Output limit": lambda one: f"`{one.max_tokens}`",
    },
    "Reasoning": {
        "Effort": lambda one: EFFORT_FORMS.get(one.effort, ""),
        "Returned reasoning": reasoning_of,
    },
    "Tools and formats": {
        "Tool choice": lambda one: CHOICES[one.tool_choice] if "tool_choice" in one.accepts else "",
        "Calls in text": lambda one: "yes" if one.text_calls else "",
        "JSON formats": lambda one: (
            quoted(one.json_formats) if "response_format" in one.accepts else ""
        ),
        "Patterns": lambda one: "yes" if one.patterns else "",
        "Files": lambda one: (
            f"`{one.file_part}`{', PDF and images' if one.pdf_only else ''}"
            if one.file_part
            else ""
        ),
    },
    "Parameters": {
        "Not sent": lambda one: quoted(USUAL - one.accepts),
        "Forwarded": lambda one: quoted(one.passthrough),
    },
    "Special behaviour": {
        "Behaviour": lambda one: ", ".join(
            [*(words for name, words in SPECIAL.items() if getattr(one, name)), *TOOLS[one.tools]]
        )
    },
}
"""The columns of each section's table, and what a dialect has in them."""


READING = (
    (
        "JSON labelled as a stream, a stream labelled as JSON, either of them as text or without "
        "a label, or the form that was not requested",
        "recognises the form by its first byte",
        "nenya#17, 9router#3492, openclaw#96497",
    ),
    ("`data: [DONE]` after JSON", "ignores it", "sub2api#2826"),
    (
        "tokens of the cache that only `total_tokens` includes",
        "counts them as input",
        "Portkey PR#1211, livekit PR#6663",
    ),
    (
        "usage in the choice, or several of a stream",
        "uses the one with most output, and the input of another where it has none",
        "pi#2017",
    ),
    (
        "`tool_calls` or `stop` with a `native_finish_reason` such as `length` or "
        "`max_output_tokens`",
        "the response is incomplete",
        "recordings of OpenRouter",
    ),
    ("reasoning that is only whitespace", "omits the item", "recordings of mistral.rs"),
    (
        "the name of a tool with tokens of the model, a recipient, a namespace, whitespace or "
        "another case",
        "calls the tool if exactly one offered tool remains; otherwise keeps the name",
        "vllm#32587, vllm PR#35906, ollama#12132",
    ),
    (
        "reasoning in tags, at the beginning of the text or after a call",
        "makes it reasoning, unless the request mentions the tag",
        "BrowserOS#167, lmstudio#2013, open-webui#16856",
    ),
    (
        "an error in `base_resp`, in `code` and `msg` at the top, or as JSON in the middle "
        "of a stream, in an answer without an end",
        "reports its cause; an account without credit is `insufficient_quota`",
        "llmgateway PR#3616",
    ),
)

EVERY_DIALECT = "These rules hold for every dialect, for streams and for answers in one piece."

MARKED = """\
These open reasoning, the first three even if the request mentions them. `</think>` closes all tags in angle brackets.
A complete answer that never closes another tag than the first three is text. A closing `</think>` alone at the start of
a line ends reasoning that the template opened:"""  # noqa: E501 - the lines of a text


LEARNED = """
## Differences that Antiphon learns

A backend that refuses a request in words that are known is sent what it accepts, at once and for a day, for that
model. The log names the lesson. The client receives the answer, and reads in the header
[`antiphon-adjusted`](endpoints.md#replies) what differs from its request; the finished response shows the values that
applied. [`antiphon demo-backend --refuse`](cli.md#antiphon-demo-backend) is such a backend, to try a client against it.
`groq` and `cerebras` refuse tools together with a JSON format, so nothing has to be learned there.

A message, or a chat completion that becomes a response, can name the output limit of another model. If the backend
refuses it and states its own, or that of the window, the request is sent again with what fits.

The store keeps the lessons, so that they hold after a restart and on other servers. `antiphon models`,
`antiphon doctor`, `GET /status` and `GET /admin/v1/backends` list them with the backend's words, and
[`antiphon models forget`](cli.md#antiphon-models-forget) deletes them. An administrator drops a single lesson in the
console, or with [`DELETE /admin/v1/lessons/{lesson_id}`](endpoints.md#endpoints). All servers forget it within
seconds, and learn it again if the backend refuses it again.

"""  # noqa: E501 - the lines of a text

UNEXPLAINED = """
## Refusals without a known reason

A backend can refuse the form of a request in words that Antiphon does not know. It sends such a request once more, in
the plainest form that keeps its meaning:

- one system message, texts as strings, no two messages of one role in a row;
- tools with plain schemas: types, properties, required names, items and texts to choose from. Other keywords are in the
  descriptions, and the arguments of a call are checked against the schema that the client sent;
- no `strict`, and no optional parameter such as `temperature`, `top_p`, `user` or an effort;
- a JSON format and a forced tool call as instructions. The answer is checked against the format;
- always as a stream.

It contains all texts, tools and results, and the limit of the output. If the backend accepts it, the client receives
the answer, with the header `antiphon-adjusted`. If the backend refuses it as well, the client receives the first
refusal.

A backend that is called by its own Responses API receives the plainest form of a Responses request: system messages in
`instructions`, texts as strings, plain schemas of functions and of the JSON format, no earlier reasoning, no `strict`,
and no optional parameter. `tool_choice`, `max_tool_calls` and the limit of the output stay. Antiphon does not check
arguments and texts from such a backend against the schemas of the client.

Antiphon then finds out what the backend refused: the next requests of the same tenant are simplified in part, until
one value of a parameter, form or schema is left. That is a lesson for this tenant, and for everyone once a second
tenant's requests have shown the same. A lesson such as `temperature=1.9` omits the parameter from requests with that
value only; objects have a digest in place of the value. Once three values of a parameter were refused, it is omitted
with any value; the same holds while Antiphon still looks for what was refused, so that ever-new values are answered.
Identifiers such as `user` are always learned without their value. There are at most three attempts an hour for a
tenant, a model and the same suspects.

No second attempt follows a refusal with another status than 400 and 422, unless a chat template raised it, or one that
names the length of the input, a content policy, a key, a quota, a file or image, or a value outside of its range.
[`plain_retry`](settings.md#backendsplain_retry) turns second attempts off for a backend.
"""  # noqa: E501 - the lines of a text

WITH_STATUS_200 = """
## Refusals with status 200

A backend can refuse a request after it has sent status 200: as the first event of its stream, or as a JSON object with
`error`. If such an error says that it is a refusal, by its status, code or type, Antiphon handles it like a reply with
that status: the sections above apply, and the client receives status 400 if nothing helps, or the error in its stream.
The refusal does not count against the health of the backend. An error that says nothing of the kind is the failure of
the backend, but the words of a chat template and of known differences are recognised in it too. Once a client has
received output, or a backend has begun to use a tool of its own, no request is repeated, and the error is a failure of
the backend. A stream has begun when such a refusal arrives, so its headers do not name what was adjusted; the finished
response shows it.

An error about the length of the input, and one about a content policy that names no status of a refusal, lead to
another backend if there is one. They do not count against the health of the first one either.

"""  # noqa: E501 - the lines of a text

QUOTED_INSIDE = (
    (
        "400 or 422 as its `code`, `status`, `status_code`, `http_code` or `http_status_code`",
        "that status",
        "litellm#25492, sglang PR#21900, recordings of Groq",
    ),
    (
        "`invalid_request_error`, `BadRequestError`, `INVALID_ARGUMENT`, `InvalidParameter` "
        "or the like as its type, status or code",
        "400",
        "CodexPlusPlus#267, documentation of OpenAI, Gemini and Alibaba",
    ),
    (
        "a text that begins with `Error code: 400`, or with `litellm.BadRequestError`",
        "that status",
        "texts of the OpenAI SDK and of LiteLLM",
    ),
    ("the code 2013, 1210, 1213, 1214 or 1215", "400", "pi#5468, error pages of MiniMax and Z.ai"),
    (
        "a code or type of a key, an account, a rate limit, a load or a missing model, or a text "
        "that begins with words such as `Too many requests` or `Your credit balance is too low`",
        "no refusal of the request: another backend is called",
        "error pages of Anthropic and Gemini, which send status 400 with such texts",
    ),
)
"""What an error in an answer with status 200 says, and which refusal it is."""


def page() -> str:
    return "".join(
        [
            INTRODUCTION,
            *(section(title) for title in SECTIONS),
            learned(),
            UNEXPLAINED,
            inside(),
            reading(),
        ]
    )


FORWARDED = (
    (
        "a chat completion that is forwarded: with 404 or 405, or in words that name the Responses "
        "API",
        f"this and later ones [as responses](../get-started/chat-on-responses.md). The lesson is "
        f"`{NO_CHAT}`",
        "copilot-api#299, litellm#15386",
    ),
    (
        "tools in a chat completion that is forwarded, in such words",
        f"this and later ones with tools as responses. The lesson is `{NO_CHAT_TOOLS}`",
        "litellm#33221",
    ),
)
"""Refusals of chat completions, what is sent from then on, and the evidence."""


def learned() -> str:
    """What a refusal teaches."""
    differences = ((row.refuses, row.sends, row.evidence) for row in DIFFERENCES)
    rows = "".join(f"| {' | '.join(row)} |\n" for row in (*differences, *FORWARDED))
    return f"{LEARNED}| A backend refuses | Antiphon sends | Evidence |\n|---|---|---|\n{rows}"


def inside() -> str:
    """Which errors in answers are refusals."""
    rows = "".join(f"| {' | '.join(row)} |\n" for row in QUOTED_INSIDE)
    return (
        f"{WITH_STATUS_200}| An error with | is a refusal with | Evidence |\n|---|---|---|\n{rows}"
    )


def reading() -> str:
    """The rules that hold for every dialect, and the tags of reasoning."""
    rules = "".join(f"| {' | '.join(row)} |\n" for row in READING)
    head = "| What a backend sends | What Antiphon does | Evidence |\n|---|---|---|\n"
    tags = ", ".join(f"`{tag}`" for tag in TAGS if "<|start|>" not in tag)
    return f"\n## How answers are read\n\n{EVERY_DIALECT}\n\n{head}{rules}\n{MARKED}\n{tags}.\n"


def section(title: str) -> str:
    """A heading, what the columns mean, and a table; dialects without anything in it are
    omitted.
    """
    columns = COLUMNS[title]
    table = "".join(rows(columns))
    head = f"| Dialect | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 1)}\n"
    return f"\n## {title}\n\n{SECTIONS[title]}\n{head}{table}"


def rows(columns: dict[str, Callable[[Dialect], str]]) -> Iterator[str]:
    for dialect in DIALECTS.values():
        cells = [cell(dialect) for cell in columns.values()]
        if any(cells):
            yield f"| `{dialect.name}` | {' | '.join(cells)} |\n".replace("|  |", "| |").replace(
                "|  |", "| |"
            )


def test_the_page_is_fresh() -> None:
    assert PAGE.read_text() == page(), f"write it again: {COMMAND}"


if __name__ == "__main__" and "--update" in sys.argv:
    PAGE.write_text(page())
