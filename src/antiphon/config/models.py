"""Configuration of models and prompts: facts about a model, and defaults for requests.

`docs/reference/settings.md` is generated from this module, as `settings.py` says.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


ReservedTokens = Annotated[int, Meta(ge=1, le=2**31 - 1)]

Price = Annotated[float, Meta(ge=0, le=1_000_000)]


class PriceConfig(Struct, kw_only=True, forbid_unknown_fields=True):
    """Prices of a model per million tokens, in the operator's currency, with at most nine decimal
    places.
    """

    input: Price
    """Price of a million input tokens."""
    output: Price
    """Price of a million output tokens."""
    cached_input: Price | None = None
    """Price of a million input tokens that the backend reports as cached. Default: the price of
    other input tokens.
    """


class ModelConfig(Struct, kw_only=True, forbid_unknown_fields=True):
    """One model. A fact that is not set has the value that a probe measured, or else that of the backend's dialect.

    >>> from antiphon import ModelConfig, Settings
    >>> settings = Settings(models=[ModelConfig(name="qwen3", parameters={"temperature": 0.6}, stop=["END"])])
    """  # noqa: E501 - a table, a diagram or an example

    # --- Which model ---

    name: str
    """Name that clients use, an alias, or the backend's own name of the model; `"*"` for every
    model.
    """
    backend: str = ""
    """The `name` of the backend, or its host and port if it has no name. Empty: every backend."""

    # --- A preset ---

    base: str = ""
    """Makes `name` a [preset](../guides/presets.md): a further model name of this server, listed in
    `/v1/models`. The model with this name answers; its table also applies, except where this one
    has a value.
    """
    instructions: str = ""
    """Instructions of a preset, for requests that have none."""
    hosted_tools: list[dict[str, Any]] = field(default_factory=list)
    """Tools of a preset that the server runs: `[{ type = "web_search" }]`, in the form of a
    request's `tools`. A client that sends the same tool itself replaces it. An MCP server needs
    `require_approval = "never"`, because the clients of a preset cannot approve calls.
    """
    max_tool_calls: Annotated[int, Meta(ge=1, le=2**31 - 1)] | None = None
    """The `max_tool_calls` of a preset, for requests that do not set it."""

    # --- Defaults of requests ---

    system_prompt: str = ""
    """Text that is inserted before the instructions of each request."""
    parameters: dict[str, Any] = field(default_factory=dict)
    """Chat parameters that are added to requests that do not set them: `temperature`, `top_p`,
    `presence_penalty`, `frequency_penalty`, and any other that the backend supports, such as
    `top_k`, `min_p` or `seed`. They need no `passthrough`. If the backend rejects a parameter,
    Antiphon omits it from further requests.
    """
    stop: list[str] = field(default_factory=list)
    """Texts at which the backend ends the output."""
    chat_template_kwargs: dict[str, Any] = field(default_factory=dict)
    """Arguments for the chat template of the model, for llama.cpp, vLLM and SGLang."""
    effort: Effort | None = None
    """The `reasoning.effort` of requests that do not set it."""
    efforts: dict[Effort, dict[str, Any]] = field(default_factory=dict)
    """Table of the Chat parameters that each effort sends, such as `{ thinking_budget = 4096 }`.
    They are added to the parameters that the [dialect](dialects.md) sends, and replace those with
    the same name.
    """
    prices: PriceConfig | None = None
    """Prices per million tokens, for [usage and
    budgets](../operate/keys-and-budgets.md#set-prices): `{ input = 2.5, output = 10, cached_input =
    0.25 }`, with at most nine decimal places. `cached_input` applies to input tokens that the
    backend reports as cached. Default of `cached_input`: the price of other input tokens.
    """
    reserved_output_tokens: ReservedTokens | None = None
    """Output tokens that budgets and token limits reserve for a response of this model if the
    request sets no `max_output_tokens`. Default: the setting
    [`reserved_output_tokens`](#reserved_output_tokens).
    """

    chat_completions: Literal["auto", "forward", "run"] | None = None
    """How `/v1/chat/completions` [reaches the model](../get-started/chat-on-responses.md).
    `"forward"`: the request is sent to the backend as it is. `"run"`: it is answered as a response,
    with hosted tools and whatever API the backend has. `"auto"`, the default: it is forwarded
    wherever the backend accepts that and no hosted tool is wanted.
    """

    # --- Facts about the model ---

    tools: Literal["native", "prompt", "schema"] | None = None
    """How the model receives tools. `"native"`: the backend accepts `tools`, and the model calls
    them. `"prompt"`: the prompt describes the tools. `"schema"`: as `"prompt"`, and a schema
    restricts every output to JSON with a text or a call, for models that follow no format and do
    not reason in their text.
    """
    parallel_calls: bool | None = None
    """Whether one output of the model can contain several tool calls."""
    forced_calls: bool | None = None
    """Whether `tool_choice: "required"` makes the model call a tool."""
    streamed_calls: bool | None = None
    """Whether tool calls are streamed as calls, and not as text."""
    text_calls: tuple[str, ...] | None = None
    """Formats in which the model writes tool calls as text; `[]` if its calls are always
    structured.
    """
    json_formats: tuple[Literal["json_object", "json_schema", "json_object_schema"], ...] | None = (
        None
    )
    """Types of `response_format` that the backend accepts."""
    json_held: bool | None = None
    """Whether the backend enforces a JSON Schema; false if it accepts a schema and ignores it."""
    rejected_keywords: tuple[str, ...] | None = None
    """JSON Schema keywords for which the backend rejects a schema."""
    context_window: Annotated[int, Meta(ge=256, le=2**31 - 1)] | None = None
    """Size of the context window in tokens: prompt and output together. With `truncation: "auto"`,
    Antiphon shortens a longer prompt before it sends it. A compaction starts at four fifths of the
    window at the latest.
    """
    thinking: Literal["none", "field", "tags", "preopened"] | None = None
    """Where the backend returns reasoning: `"none"`, `"field"` (a separate field), `"tags"`
    (between `<think>` tags), or `"preopened"` (after a tag that the chat template opens).
    """
    thinking_control: (
        Literal[
            "",
            "reasoning_effort",
            "reasoning",
            "thinking",
            "enable_thinking",
            "chat_template_kwargs",
        ]
        | None
    ) = None
    """Parameter of the effort that disables reasoning; `""` if no parameter does."""
    vision: bool | None = None
    """Whether the model accepts images. If false, the model in the setting [`vision`](#vision)
    [describes](../guides/send-images-to-text-models.md) them."""
    system_role: bool | None = None
    """Whether messages can have the role `system`. If false, Antiphon adds the instructions to the
    first user message.
    """
    developer_role: bool | None = None
    """Whether messages can have the role `developer`."""
    late_system: bool | None = None
    """Whether a system message can follow other messages. Unless true, a later system message
    becomes a marked user message, except for the dialects `openai` and `azure`, for which only
    false has this effect.
    """
    stable_template: bool | None = None
    """Whether the chat template renders earlier turns, including their reasoning, as before when a
    new user message follows. If false, the new message invalidates the [prompt
    cache](../guides/reuse-prompt-caches.md#what-changes-a-prompt) of a turn with tool calls.
    """
    usage: bool | None = None
    """Whether a response that is not streamed reports its tokens."""
    streamed_usage: bool | None = None
    """Whether a stream reports its tokens at its end."""
    weaknesses: tuple[Literal["instructions", "calls"], ...] | None = None
    """What coding agents need and the model does not do: follow `"instructions"`, or write tool
    `"calls"` without being forced to. With any of them, Antiphon describes the model as too weak
    for coding agents; nothing else changes.
    """


class PromptConfig(Struct, kw_only=True, forbid_unknown_fields=True):
    """A prompt that requests can use by its ID: texts with placeholders such as `{{name}}`, and defaults.

    >>> from antiphon import PromptConfig, Settings
    >>> support = PromptConfig(instructions="You help {{customer}}.", defaults={"temperature": 0.2})
    >>> settings = Settings(prompts={"support": support})
    """  # noqa: E501 - a table, a diagram or an example

    version: Annotated[int, Meta(ge=1, le=2**31 - 1)] = 1
    """Number of the version. Raise it when you change the prompt: requests for the previous version
    then fail with 404.
    """
    name: str = ""
    """Title of the prompt in lists."""
    instructions: str = ""
    """Instructions for requests that have none."""
    messages: list[dict[str, Any]] = field(default_factory=list)
    """Messages before the conversation, in the format of `input`."""
    model: str = ""
    """Model for requests that name none."""
    defaults: dict[str, Any] = field(default_factory=dict)
    """Parameters for requests that do not set them, such as `temperature` and `tools`."""
