"""What can be configured for one model: facts about it, and defaults for the requests to it."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


ReservedTokens = Annotated[int, Meta(ge=1, le=2**31 - 1)]

Price = Annotated[float, Meta(ge=0, le=1_000_000)]


class PriceConfig(Struct, kw_only=True, forbid_unknown_fields=True):
    """What a million tokens of a model cost, in the operator's currency, with nine digits after the point at most."""

    input: Price
    """A million input tokens."""
    output: Price
    """A million output tokens."""
    cached_input: Price | None = None
    """A million input tokens that the backend had in its prefix cache; by default as `input`."""


class ModelConfig(Struct, kw_only=True, forbid_unknown_fields=True):
    """One model. A fact that is not set is used as `antiphon models probe` measured it, else as its dialect has it.

    >>> from antiphon import ModelConfig, Settings
    >>> settings = Settings(models=[ModelConfig(name="qwen3", parameters={"temperature": 0.6}, stop=["END"])])
    """

    name: str
    """Name that clients use, an alias, or the backend's own name; `*` for every model."""
    backend: str = ""
    """Name of the backend that this concerns; empty for every backend."""

    # Defaults of requests: what the client sends itself wins.

    system_prompt: str = ""
    """Text that precedes the instructions of each request."""
    parameters: dict[str, Any] = field(default_factory=dict)
    """Chat parameters for requests that do not set them, such as `temperature` and `top_k`."""
    stop: list[str] = field(default_factory=list)
    """Texts at which the backend ends the answer."""
    chat_template_kwargs: dict[str, Any] = field(default_factory=dict)
    """Arguments of the model's chat template."""
    effort: Effort | None = None
    """Effort of requests that name none."""
    efforts: dict[Effort, dict[str, Any]] = field(default_factory=dict)
    """By effort: the Chat parameters that it stands for, such as a budget of tokens for thinking."""

    prices: PriceConfig | None = None
    """What its tokens cost, for usage and budgets."""
    reserved_output_tokens: ReservedTokens | None = None
    """Tokens reserved for an answer of unbounded length; by default the setting of the same name."""

    # Facts, as in the profile of the model.

    tools: Literal["native", "prompt", "schema"] | None = None
    """How tools reach the model: by the backend's own `tools`, or described in the prompt."""
    parallel_calls: bool | None = None
    """Whether one answer may hold several calls."""
    forced_calls: bool | None = None
    """Whether `tool_choice: required` makes the model call a tool."""
    streamed_calls: bool | None = None
    """Whether a stream carries calls as calls, and not as text."""
    text_calls: tuple[str, ...] | None = None
    """Formats in which the model writes calls as text."""
    json_formats: tuple[Literal["json_object", "json_schema", "json_object_schema"], ...] | None = None
    """Types of `response_format` that the backend takes."""
    json_held: bool | None = None
    """Whether a schema holds the answer."""
    rejected_keywords: tuple[str, ...] | None = None
    """JSON Schema keywords for which the backend rejects a schema."""
    context_window: Annotated[int, Meta(ge=256, le=2**31 - 1)] | None = None
    """Tokens of prompt and answer together."""
    thinking: Literal["none", "field", "tags", "preopened"] | None = None
    """Where thinking comes: in a field of its own, between `<think>` tags, or after a tag that the template opens."""
    thinking_control: (
        Literal["", "reasoning_effort", "reasoning", "thinking", "enable_thinking", "chat_template_kwargs"] | None
    ) = None
    """Form of the effort that switches thinking off; empty where none does."""
    vision: bool | None = None
    """Whether the model sees images."""
    system_role: bool | None = None
    """Whether a message may have the role `system`; otherwise instructions go into the first user message."""
    developer_role: bool | None = None
    """Whether a message may have the role `developer`."""
    late_system: bool | None = None
    """Whether a system message may follow other messages."""
    stable_template: bool | None = None
    """Whether the chat template writes earlier turns as before once the user writes again, reasoning included."""
    usage: bool | None = None
    """Whether a plain answer reports its tokens."""
    streamed_usage: bool | None = None
    """Whether a stream reports its tokens when it ends."""


class PromptConfig(Struct, kw_only=True, forbid_unknown_fields=True):
    """A prompt that requests can name by its id: texts with placeholders such as `{{name}}`, and defaults.

    >>> from antiphon import PromptConfig, Settings
    >>> support = PromptConfig(instructions="You help {{customer}}.", defaults={"temperature": 0.2})
    >>> settings = Settings(prompts={"support": support})
    """

    version: Annotated[int, Meta(ge=1, le=2**31 - 1)] = 1
    """The number of its version: raise it when you change the prompt, and requests for the former version fail."""
    name: str = ""
    """Its title in lists."""
    instructions: str = ""
    """The instructions of requests that have none of their own."""
    messages: list[dict[str, Any]] = field(default_factory=list)
    """Messages before the conversation, as requests have them."""
    model: str = ""
    """The model of requests that name none."""
    defaults: dict[str, Any] = field(default_factory=dict)
    """Parameters of requests that do not set them, such as `temperature` and `tools`."""
