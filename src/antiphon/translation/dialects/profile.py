"""What is known about one model at one backend, measured or configured.

A `Dialect` says what a family of backends accepts; a `ModelProfile` says what differs for one of
its models. A fact of None is unknown, and the dialect's own value applies (`Dialect.profiled`).
"""

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

EffortForm = Literal[
    "", "reasoning_effort", "reasoning", "thinking", "enable_thinking", "chat_template_kwargs"
]
JsonFormat = Literal["json_object", "json_schema", "json_object_schema"]
ToolForm = Literal["native", "prompt", "schema"]
ThinkingStyle = Literal["none", "field", "tags", "preopened"]
Weakness = Literal["instructions", "calls"]


class ModelProfile(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Facts about one model at one backend; None means unknown."""

    tools: ToolForm | None = None
    """`native`: the backend accepts `tools`, and the model calls them. `prompt`: the prompt must
    describe them. `schema`: the prompt describes them, and a schema forces every answer into JSON.
    """
    parallel_calls: bool | None = None
    """Whether one answer can contain several calls."""
    forced_calls: bool | None = None
    """Whether `tool_choice: required` makes the model call a tool."""
    streamed_calls: bool | None = None
    """Whether a stream contains calls as calls, and not as text."""
    text_calls: tuple[str, ...] | None = None
    """Formats in which the model writes calls as text; empty if its calls arrive as calls."""
    json_formats: tuple[JsonFormat, ...] | None = None
    """Types of `response_format` that the backend accepts for this model."""
    json_held: bool | None = None
    """Whether a schema constrains the answer; false if the backend accepts the schema and ignores
    it.
    """
    rejected_keywords: tuple[str, ...] | None = None
    """JSON Schema keywords for which the backend rejects a schema."""
    context_window: int | None = None
    """Tokens of prompt and answer together."""
    thinking: ThinkingStyle | None = None
    """Where the model's reasoning is: in a separate field, between `<think>` tags, or after a tag
    that the template opens.
    """
    thinking_control: EffortForm | None = None
    """The form of the effort that switches reasoning off; empty if none does."""
    vision: bool | None = None
    """Whether the model sees images."""
    system_role: bool | None = None
    """Whether a message can have the role `system`."""
    developer_role: bool | None = None
    """Whether a message can have the role `developer`."""
    late_system: bool | None = None
    """Whether a system message can follow other messages."""
    stable_template: bool | None = None
    """Whether the chat template writes earlier turns unchanged once the user writes again,
    including reasoning.
    """
    usage: bool | None = None
    """Whether a non-streamed answer reports its tokens."""
    streamed_usage: bool | None = None
    """Whether a stream reports its tokens when it ends."""
    weaknesses: tuple[Weakness, ...] | None = None
    """What the model did not do although a coding agent needs it: follow `instructions`, write
    `calls` unforced.
    """

    def under(self, other: "ModelProfile | None") -> "ModelProfile":
        """Return these facts, replaced by those that the other profile knows."""
        if other is None:
            return self
        known = {name: value for name in FACTS if (value := getattr(other, name)) is not None}
        return replace(self, **known)

    def known(self) -> dict[str, object]:
        """Return the known facts, by their names."""
        return {name: value for name in FACTS if (value := getattr(self, name)) is not None}


FACTS = ModelProfile.__struct_fields__
"""The names of all facts."""

NOTHING_KNOWN = ModelProfile()
