"""What is known about one model at one backend, measured or configured.

A `Dialect` says what a family of backends takes; a `ModelProfile` says what differs for one of its models. A fact that
is None is unknown, and the dialect's own value holds (`Dialect.profiled`).
"""

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

EffortForm = Literal["", "reasoning_effort", "reasoning", "thinking", "enable_thinking", "chat_template_kwargs"]
JsonFormat = Literal["json_object", "json_schema", "json_object_schema"]
ToolForm = Literal["native", "prompt", "schema"]
ThinkingStyle = Literal["none", "field", "tags", "preopened"]


class ModelProfile(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Facts about one model at one backend; None means unknown."""

    tools: ToolForm | None = None
    """`native`: the backend takes `tools`, and the model calls them. `prompt`: they must be described in the prompt.
    `schema`: they are, and a schema holds every answer to JSON."""
    parallel_calls: bool | None = None
    """Whether one answer may hold several calls."""
    forced_calls: bool | None = None
    """Whether `tool_choice: required` makes the model call a tool."""
    streamed_calls: bool | None = None
    """Whether a stream carries calls as calls, and not as text."""
    text_calls: tuple[str, ...] | None = None
    """Formats in which the model writes calls as text; empty where its calls come as calls."""
    json_formats: tuple[JsonFormat, ...] | None = None
    """Types of `response_format` that the backend takes for this model."""
    json_held: bool | None = None
    """Whether a schema holds the answer; false where the backend takes the schema and ignores it."""
    rejected_keywords: tuple[str, ...] | None = None
    """JSON Schema keywords for which the backend rejects a schema."""
    context_window: int | None = None
    """Tokens of prompt and answer together."""
    thinking: ThinkingStyle | None = None
    """Where the model's thinking comes: in a field of its own, between `<think>` tags, or after a tag that the template
    opens."""
    thinking_control: EffortForm | None = None
    """The form of the effort that switches thinking off; empty where none does."""
    vision: bool | None = None
    """Whether the model sees images."""
    system_role: bool | None = None
    """Whether a message may have the role `system`."""
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

    def under(self, other: "ModelProfile | None") -> "ModelProfile":
        """Return these facts with those that the other one knows in their place."""
        if other is None:
            return self
        known = {name: value for name in FACTS if (value := getattr(other, name)) is not None}
        return replace(self, **known)

    def known(self) -> dict[str, object]:
        """Return the facts that are known, by their names."""
        return {name: value for name in FACTS if (value := getattr(self, name)) is not None}


FACTS = ModelProfile.__struct_fields__
"""The names of all facts."""

NOTHING_KNOWN = ModelProfile()
