"""How Chat Completions backends differ: one table, a row a family, each with its evidence.

A `Dialect` is what request translation asks instead of a backend's name. What a backend complains of at run time
changes its row (`Dialect.taught`), so that a lesson learned from a 400 works exactly like a line of the table.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal
from urllib.parse import urlsplit

from antiphon.errors import ConfigError

Replay = Literal["never", "tool_turns", "always"]
ReasoningField = Literal["", "reasoning_content", "reasoning", "thinking", "think_tags"]
EffortForm = Literal["", "reasoning_effort", "reasoning", "thinking", "enable_thinking"]
ChoiceForm = Literal["full", "named", "functions", "strings"]
CapName = Literal["max_tokens", "max_completion_tokens", ""]
Api = Literal["chat", "responses"]
"""The API that a backend is asked by."""

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""Efforts of the Responses API, least first."""

TOOLS = frozenset({"tools", "tool_choice", "parallel_tool_calls"})
SAMPLING = frozenset({"temperature", "top_p"})
PENALTIES = frozenset({"presence_penalty", "frequency_penalty"})
LOGPROBS = frozenset({"logprobs", "top_logprobs"})
USUAL = TOOLS | SAMPLING | PENALTIES | LOGPROBS | {"response_format", "user", "stream_options"}
"""What nearly every server takes."""

OPENAI_ONLY = frozenset(
    {"verbosity", "service_tier", "safety_identifier"}
    | {"prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"}
)

REASONING_FIELDS = frozenset({"reasoning_content", "reasoning", "reasoning_details", "thinking_blocks"})
"""Fields of an assistant message that carry reasoning back."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """What one family of backends takes. The defaults are the cautious middle: what most servers accept."""

    name: str
    system_role: Literal["system", "developer"] = "system"
    system_must_be_first: bool = False
    """One system message, at the very start: chat templates raise otherwise. Later ones become marked user messages."""
    call_content: Literal["null", "", "absent"] = "null"
    """`content` of an assistant message that has calls and no text."""
    text_parts: bool = True
    """Whether text may come as a list of parts; otherwise the parts are joined."""
    alternating: bool = False
    """Whether two messages of one role in a row are refused; they are then joined."""
    refusal_field: bool = False
    """Whether an assistant message has a `refusal`; otherwise a refusal is sent as its text."""
    max_tokens: CapName = "max_tokens"
    accepts: frozenset[str] = USUAL
    """Optional Chat parameters that may be sent."""
    effort: EffortForm = ""
    """How `reasoning.effort` is said; empty where it cannot be.

    `reasoning_effort`: that string. `reasoning`: an object with `effort`. `thinking`: `{"type": "enabled"}` or
    `disabled`, and `reasoning_effort` beside. `enable_thinking`: a boolean.
    """
    efforts: frozenset[str] = frozenset(EFFORTS)
    """Efforts taken; another is replaced by the nearest."""
    reasoning: ReasoningField = ""
    """Where an assistant message carries its reasoning text back: a field's name, Mistral's thinking parts, or tags."""
    replay: Replay = "never"
    """Which turns carry reasoning back: `tool_turns` are those in which the model called a tool."""
    reasoning_required: bool = False
    """Whether an assistant message with calls must have the reasoning field even when there was no reasoning."""
    tool_choice: ChoiceForm = "named"
    """`full` takes `allowed_tools` too, `named` a function's name, `strings` only `none`, `auto` and `required`;
    `functions` takes a function's name and not `required`."""
    strict: bool = False
    """Whether `strict` of a function or a schema may be sent."""
    patterns: bool = False
    """Whether a schema's `pattern` holds the model to it; elsewhere it is looked at afterwards only."""
    json_formats: frozenset[str] = frozenset({"json_object", "json_schema"})
    """Types of `response_format` taken; for others the model is told in words what to write.

    `json_object_schema` stands for a `json_object` that has a `schema` beside its type.
    """
    file_part: Literal["", "file", "document_url"] = ""
    """How a file that is not text is sent; empty where it cannot be."""
    file_urls: bool = False
    """Whether that part may hold a URL instead of data."""
    tool_parts: bool = False
    """Whether a tool's output may hold images; otherwise they move into the user message that follows."""
    short_call_ids: bool = False
    """Whether a call's id must be nine letters and digits."""
    api: Api | Literal["probe"] = "chat"
    """The API that it is asked by where the configuration leaves it open; `probe` asks the server itself.

    `chat` where its own Responses API is known to do less than this server does over Chat, or is not known.
    """
    parses_arguments: bool = False
    """Whether a call's arguments that are no JSON object make it fail; they are then sent inside one."""
    one_at_a_time: bool = False
    """Whether whatever is asked of it breaks off the answer that it is streaming, be it only for its models."""
    streams_hide_errors: bool = False
    """Whether a stream breaks off without a word where a plain answer would say what is wrong."""
    ends_without_finish_reason: bool = False
    """Whether a complete answer may come with an empty `finish_reason`."""
    hosts: tuple[str, ...] = field(default=(), compare=False)
    """Host names, or endings of them that begin with a dot."""
    ports: tuple[int, ...] = field(default=(), compare=False)
    """The usual port on this machine."""
    owners: tuple[str, ...] = field(default=(), compare=False)
    """Values of `owned_by` in the list of models that only this family sends."""
    servers: tuple[str, ...] = field(default=(), compare=False)
    """How the `server` header begins, lower case."""

    def taught(self, lessons: frozenset[str]) -> "Dialect":
        """Return this dialect as `lessons`, what `learn.refused_parameter` made of a backend's errors, correct it."""
        if not lessons:
            return self
        required = next((name for name in _REPLAY_FIELDS if f"+{name}" in lessons), None)
        silenced = not required and any(f"messages.{name}" in lessons for name in REASONING_FIELDS)
        return replace(
            self,
            accepts=self.accepts - lessons,
            max_tokens=next((name for name in _CAP_NAMES[self.max_tokens] if name not in lessons), ""),
            effort="" if lessons & _EFFORT_NAMES[self.effort] else self.effort,
            reasoning=required or self.reasoning,
            replay="never" if silenced else "tool_turns" if required and self.replay == "never" else self.replay,
            reasoning_required=bool(required) or (self.reasoning_required and not silenced),
            strict=self.strict and "tools.strict" not in lessons,
        )


_REPLAY_FIELDS: tuple[ReasoningField, ...] = ("reasoning_content", "reasoning")

_CAP_NAMES: Mapping[str, tuple[CapName, ...]] = {
    "max_tokens": ("max_tokens", "max_completion_tokens"),
    "max_completion_tokens": ("max_completion_tokens", "max_tokens"),
    "": (),
}
"""The output cap's names in the order to try: a backend that refuses one takes the other."""

_EFFORT_NAMES: Mapping[EffortForm, frozenset[str]] = {
    "": frozenset(),
    "reasoning_effort": frozenset({"reasoning_effort"}),
    "reasoning": frozenset({"reasoning"}),
    "thinking": frozenset({"thinking", "reasoning_effort"}),
    "enable_thinking": frozenset({"enable_thinking"}),
}
"""The Chat parameters that each way of saying the effort uses."""


_ROWS = (
    Dialect(
        # Recordings: assistant content absent, null and "" all pass; gpt-5 and o-series refuse `max_tokens`.
        # `metadata` is never sent to anyone: here it is refused unless `store` is true, and it labels our response.
        "openai",
        system_role="developer",
        refusal_field=True,
        max_tokens="max_completion_tokens",
        accepts=USUAL | OPENAI_ONLY,
        effort="reasoning_effort",
        tool_choice="full",
        strict=True,
        file_part="file",
        # Its reasoning, and the tools that it runs, are to be had there only.
        api="responses",
        hosts=("api.openai.com", ".api.openai.com"),
    ),
    Dialect(
        # Recordings (o4-mini, gpt-5-mini): `system`, `max_completion_tokens` and `reasoning_effort` pass.
        "azure",
        refusal_field=True,
        max_tokens="max_completion_tokens",
        accepts=USUAL | {"verbosity", "prompt_cache_key"},
        effort="reasoning_effort",
        strict=True,
        file_part="file",
        # Depends on the resource's region and on what stands before it.
        api="probe",
        hosts=(".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"),
    ),
    Dialect(
        # Its compatibility page lists the fields it reads, `tool_choice` as a string. Recording: `reasoning` replayed.
        # Its Responses API takes no `custom` and no `namespace` tool (ollama#17618) and refuses unknown items (#18286).
        "ollama",
        accepts=TOOLS | SAMPLING | PENALTIES | LOGPROBS | {"response_format", "stream_options"},
        effort="reasoning_effort",
        efforts=frozenset({"none", "low", "medium", "high"}),
        reasoning="reasoning",
        replay="tool_turns",
        tool_choice="strings",
        call_content="",
        hosts=("ollama.com",),
        ports=(11434,),
        owners=("library",),
    ),
    Dialect(
        # lmstudio-bug-tracker#670: "Invalid tool_choice type: 'object'"; #307: only `text` and `json_schema`.
        # Recordings of its Responses API: arguments of calls come whole, at the end.
        "lmstudio",
        system_must_be_first=True,
        accepts=TOOLS | SAMPLING | PENALTIES | {"response_format", "stream_options"},
        effort="reasoning_effort",
        reasoning="reasoning_content",
        replay="tool_turns",
        tool_choice="strings",
        json_formats=frozenset({"json_schema"}),
        call_content="",
        ports=(1234,),
        owners=("organization_owner",),
    ),
    Dialect(
        # llama.cpp#20733: "System message must be at the beginning" comes from the model's template; its parser reads
        # `tool_choice` as a string. Recordings: `reasoning_content` replayed with absent content.
        # Its Responses API refuses tools of Codex (llama.cpp#20156) and loses images in outputs (#23465).
        "llamacpp",
        system_must_be_first=True,
        patterns=True,
        effort="reasoning_effort",
        reasoning="reasoning_content",
        replay="tool_turns",
        tool_choice="strings",
        ports=(8080,),
        owners=("llamacpp",),
        servers=("llama.cpp",),
    ),
    Dialect(
        # tests/system/model_servers/test_llama_cpp.py, version 0.3.36: `json_schema` is a 500 and a grammar comes of
        # `schema` in a `json_object`; `required` is ignored; null, and parts that are not a user's, are a 500; any
        # further request ends a stream; a streamed prompt that is too long is a 200 with nothing behind it. Templates
        # want the system message first.
        "llama-cpp-python",
        system_must_be_first=True,
        call_content="",
        text_parts=False,
        accepts=USUAL - {"parallel_tool_calls", "user", "stream_options"},
        tool_choice="functions",
        patterns=True,
        json_formats=frozenset({"json_object", "json_object_schema"}),
        one_at_a_time=True,
        streams_hide_errors=True,
        owners=("me",),
    ),
    Dialect(
        # tests/system/model_servers/test_transformers.py, `transformers serve` 5.23.0: it takes OpenAI's fields and
        # heeds few; `frequency_penalty` is one for repetition, a 500 below 0. It parses the arguments of calls, reads
        # text parts as words apart, drops other fields of a message. Templates want the system message first.
        "transformers",
        system_must_be_first=True,
        call_content="",
        text_parts=False,
        accepts=SAMPLING | {"tools"},
        parses_arguments=True,
    ),
    Dialect(
        # vllm#38488: only `reasoning` is read back, `reasoning_content` is dropped unseen; unknown keys are ignored;
        # vllm#42407: templates want the system message first. Recordings of its Responses API: a forced call streams as
        # text and is a call at the end only; a result without a user's message after it is a 400.
        "vllm",
        system_must_be_first=True,
        patterns=True,
        effort="reasoning_effort",
        reasoning="reasoning",
        replay="always",
        ports=(8000,),
        owners=("vllm",),
        servers=("vllm",),
    ),
    Dialect(
        # sglang#40082: system message first; sends and reads `reasoning_content`. Its Responses API loses images in
        # outputs (sglang#34927).
        "sglang",
        system_must_be_first=True,
        patterns=True,
        effort="reasoning_effort",
        reasoning="reasoning_content",
        replay="tool_turns",
        ports=(30000,),
        owners=("sglang",),
        servers=("sglang",),
    ),
    Dialect(
        # Recordings: `reasoning` in answers; unknown message fields are refused: "property 'x' is unsupported".
        "groq",
        max_tokens="max_completion_tokens",
        accepts=TOOLS | SAMPLING | {"response_format", "user", "stream_options"},
        effort="reasoning_effort",
        efforts=frozenset({"none", "low", "medium", "high"}),
        reasoning="reasoning",
        replay="tool_turns",
        strict=True,
        hosts=("api.groq.com",),
    ),
    Dialect(
        # Its thinking guide: `reasoning_content` must come back with every turn that called a tool, empty or not
        # (opencode#24722); on other turns it is ignored. Only `json_object`. Recordings: content "" beside calls.
        "deepseek",
        accepts=USUAL - {"user"},
        effort="thinking",
        reasoning="reasoning_content",
        replay="tool_turns",
        reasoning_required=True,
        json_formats=frozenset({"json_object"}),
        call_content="",
        hosts=("api.deepseek.com",),
        owners=("deepseek",),
    ),
    Dialect(
        # crush#1590: any field it does not know is a 422 `extra_forbidden`, `reasoning_content` too; anon-kode#53:
        # no `stream_options`, usage comes anyway. Recordings: thinking parts, `document_url` parts, content "".
        "mistral",
        accepts=TOOLS | SAMPLING | PENALTIES | {"response_format"},
        effort="reasoning_effort",
        efforts=frozenset({"none", "high"}),
        reasoning="thinking",
        replay="tool_turns",
        strict=True,
        call_content="",
        file_part="document_url",
        file_urls=True,
        short_call_ids=True,
        hosts=("api.mistral.ai", "codestral.mistral.ai"),
        owners=("mistralai",),
    ),
    Dialect(
        # Recordings: `reasoning: {effort}` in, `reasoning` and signed `reasoning_details` out and back; `file` parts.
        # Its Responses API, a beta, was recorded sending a text in one piece.
        "openrouter",
        accepts=USUAL | {"verbosity", "prompt_cache_key", "service_tier"},
        effort="reasoning",
        reasoning="reasoning",
        replay="always",
        strict=True,
        file_part="file",
        file_urls=True,
        hosts=("openrouter.ai",),
    ),
    Dialect(
        # Recordings: the same `reasoning` and `reasoning_details` as OpenRouter.
        "vercel",
        effort="reasoning",
        reasoning="reasoning",
        replay="always",
        strict=True,
        hosts=("ai-gateway.vercel.sh",),
    ),
    Dialect(
        # kilocode#10375: "property 'messages.2.assistant.reasoning_content' is unsupported"; recording: reasoning goes
        # back in <think> tags. agno#4508: `parallel_tool_calls=False` is refused.
        "cerebras",
        max_tokens="max_completion_tokens",
        accepts=SAMPLING | LOGPROBS | {"tools", "tool_choice", "response_format", "user", "stream_options"},
        effort="reasoning_effort",
        efforts=frozenset({"none", "low", "medium", "high"}),
        reasoning="think_tags",
        replay="tool_turns",
        strict=True,
        call_content="",
        hosts=("api.cerebras.ai",),
    ),
    Dialect(
        # Recordings: `reasoning_content` replayed with absent content. Reasoning models refuse penalties; those that
        # refuse the effort say "does not support parameter reasoningEffort", which is learned.
        "xai",
        accepts=USUAL - PENALTIES,
        effort="reasoning_effort",
        efforts=frozenset({"none", "low", "medium", "high"}),
        reasoning="reasoning_content",
        replay="tool_turns",
        strict=True,
        hosts=("api.x.ai",),
        owners=("xai",),
    ),
    Dialect(
        # Recordings: `extra_content.google.thought_signature` on calls, wanted back (400 without, nanobot#2453); no
        # field for reasoning text. RSSBox#132: penalties are refused.
        "gemini",
        accepts=SAMPLING | {"tools", "tool_choice", "response_format", "stream_options"},
        effort="reasoning_effort",
        efforts=frozenset({"none", "minimal", "low", "medium", "high"}),
        call_content="absent",
        hosts=("generativelanguage.googleapis.com", "aiplatform.googleapis.com", ".aiplatform.googleapis.com"),
        owners=("google",),
    ),
    Dialect(
        # Its pages: `reasoning` or `reasoning_content` by model, `reasoning_effort` on reasoning models.
        "together",
        effort="reasoning_effort",
        reasoning="reasoning",
        replay="tool_turns",
        hosts=("api.together.xyz", "api.together.ai"),
    ),
    Dialect(
        # Its reasoning guide: `reasoning_content` in and out; litellm PR#40682 stopped removing it.
        "fireworks",
        effort="reasoning_effort",
        reasoning="reasoning_content",
        replay="tool_turns",
        hosts=("api.fireworks.ai",),
        owners=("fireworks",),
    ),
    Dialect(
        # No function calling; roles must alternate after the system message; penalties must be above 0
        # (obsidian-copilot#431). Recordings: usage comes unasked.
        "perplexity",
        alternating=True,
        accepts=SAMPLING | {"response_format"},
        effort="reasoning_effort",
        efforts=frozenset({"minimal", "low", "medium", "high"}),
        json_formats=frozenset({"json_schema"}),
        hosts=("api.perplexity.ai",),
    ),
    Dialect(
        # continue#11600: "reasoning_content is missing in assistant tool call message". nanobot#3939: effort or
        # `thinking`, never both; so only the effort is said.
        "moonshot",
        accepts=(USUAL - LOGPROBS) | {"prompt_cache_key"},
        effort="reasoning_effort",
        reasoning="reasoning_content",
        replay="tool_turns",
        reasoning_required=True,
        call_content="",
        hosts=("api.moonshot.ai", "api.moonshot.cn"),
        owners=("moonshot",),
    ),
    Dialect(
        # Recordings: `thinking` and `reasoning_effort` in, `reasoning_content` back with tool turns.
        "zai",
        accepts=TOOLS | SAMPLING | {"response_format", "stream_options"},
        effort="thinking",
        reasoning="reasoning_content",
        replay="tool_turns",
        json_formats=frozenset({"json_object"}),
        call_content="",
        hosts=("api.z.ai", "open.bigmodel.cn"),
    ),
    Dialect(
        # Recordings: `reasoning_content` out; thinking is switched by `enable_thinking`.
        "alibaba",
        accepts=TOOLS | SAMPLING | LOGPROBS | {"presence_penalty", "response_format", "stream_options"},
        effort="enable_thinking",
        reasoning="reasoning_content",
        replay="tool_turns",
        call_content="",
        hosts=("dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com"),
    ),
    Dialect(
        # A router over providers that differ. Recordings: text parts, images, `stream_options`, `tool_choice` pass.
        "huggingface",
        effort="reasoning_effort",
        hosts=("router.huggingface.co", "api-inference.huggingface.co", ".endpoints.huggingface.cloud"),
    ),
    Dialect(
        # Recordings: an empty `finish_reason` on complete answers; `reasoning: {effort}`; signed `reasoning_details`.
        "snowflake",
        max_tokens="max_completion_tokens",
        effort="reasoning",
        efforts=frozenset({"low", "medium", "high"}),
        replay="tool_turns",
        ends_without_finish_reason=True,
        hosts=(".snowflakecomputing.com",),
    ),
    Dialect(
        # continue#12936: `json: unknown field "stream_options"`. Recordings: usage comes with every chunk.
        "databricks",
        accepts=SAMPLING | LOGPROBS | {"tools", "tool_choice", "response_format"},
        effort="reasoning_effort",
        efforts=frozenset({"low", "medium", "high"}),
        hosts=(".cloud.databricks.com", ".azuredatabricks.net", ".gcp.databricks.com"),
        servers=("databricks",),
    ),
    Dialect(
        # Claude behind LiteLLM and the like: `thinking_blocks` come with signatures and must come back unchanged
        # with tool turns; unsigned reasoning has no place. Tool results may hold images.
        "anthropic",
        accepts=SAMPLING | {"tools", "tool_choice", "parallel_tool_calls", "response_format", "user", "stream_options"},
        effort="reasoning_effort",
        replay="tool_turns",
        file_part="file",
        tool_parts=True,
        hosts=("api.anthropic.com",),
        ports=(4000,),
        owners=("anthropic",),
        servers=("litellm",),
    ),
    Dialect(
        # Our own scripted model.
        "demo",
        accepts=USUAL | OPENAI_ONLY,
        effort="reasoning_effort",
        reasoning="reasoning_content",
        replay="always",
        tool_choice="full",
        strict=True,
        file_part="file",
        owners=("antiphon",),
    ),
    Dialect(
        # An unknown server: what most take, reasoning back only where a tool loop may depend on it (lesson L33);
        # whatever it refuses is learned. Who has built a Responses API for a server of their own means it to be used.
        "generic",
        api="probe",
        effort="reasoning_effort",
        reasoning="reasoning_content",
        replay="tool_turns",
    ),
)

DIALECTS: Mapping[str, Dialect] = {row.name: row for row in _ROWS}
"""Every family by the name that the configuration uses."""


def tell_dialect(url: str, owned_by: set[str], server: str, configured: str | None) -> Dialect:
    """Tell a backend's family: from the configuration, its host, its `server` header, its models' owner, or its port.

    `url` is the base URL, empty for a backend inside this process; `owned_by` are the values of that field in its
    list of models; `server` is the header as it came. Raises `ConfigError` where `configured` names no family.
    """
    if configured is not None:
        return _configured(configured)
    if not url:
        return DIALECTS["demo"]
    parts = urlsplit(url)
    signs: tuple[Callable[[Dialect], bool], ...] = (
        lambda row: _is_host(parts.hostname or "", row.hosts),
        lambda row: server.lower().startswith(row.servers),
        lambda row: not owned_by.isdisjoint(row.owners),
        lambda row: parts.port in row.ports,
    )
    return next((row for sign in signs for row in _ROWS if sign(row)), DIALECTS["generic"])


def _configured(name: str) -> Dialect:
    if name not in DIALECTS:
        raise ConfigError(f"Unknown dialect '{name}'. Dialects are: {', '.join(sorted(DIALECTS))}.")
    return DIALECTS[name]


def _is_host(host: str, names: tuple[str, ...]) -> bool:
    return any(host == name or (name.startswith(".") and host.endswith(name)) for name in names)
