"""What a family of Chat Completions backends accepts.

Request translation reads a `Dialect` instead of checking a backend's name. An error of a backend at
run time changes its row (`Dialect.taught`), so that a lesson learned from a 400 works exactly like
a row of the table.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from antiphon.translation.dialects.profile import EffortForm, ModelProfile
from antiphon.translation.to_chat_completions.schemas import groups_of

Replay = Literal["never", "tool_turns", "always"]
ReasoningField = Literal["", "reasoning_content", "reasoning", "thinking", "think_tags"]
ChoiceForm = Literal["full", "named", "functions", "strings"]
SystemMessages = Literal["first", "late", "several"]
Prefill = Literal["", "last", "continue", "prefix"]
CapName = Literal["max_tokens", "max_completion_tokens", ""]
Api = Literal["chat", "responses"]
"""The API that a backend is called with."""

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""Efforts of the Responses API, lowest first."""


def effort_in(body: Mapping[str, Any]) -> str | None:
    """Return the effort of a Chat request, in whatever form it has one; None if the model has its
    own.
    """
    thinking, template, reasoning = (
        value if isinstance(value := body.get(name), dict) else {}
        for name in ("thinking", "chat_template_kwargs", "reasoning")
    )
    switches = (body.get("enable_thinking"), template.get("enable_thinking"))
    if thinking.get("type") == "disabled" or False in switches:
        return "none"
    effort = body.get("reasoning_effort") or reasoning.get("effort")
    return effort if isinstance(effort, str) else None


TOOLS = frozenset({"tools", "tool_choice", "parallel_tool_calls"})
SAMPLING = frozenset({"temperature", "top_p"})
PENALTIES = frozenset({"presence_penalty", "frequency_penalty"})
LOGPROBS = frozenset({"logprobs", "top_logprobs"})
USUAL = TOOLS | SAMPLING | PENALTIES | LOGPROBS | {"response_format", "user", "stream_options"}
"""What nearly every server accepts."""

OPENAI_ONLY = frozenset(
    {"verbosity", "service_tier", "safety_identifier"}
    | {"prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"}
)

REASONING_FIELDS = frozenset(
    {"reasoning_content", "reasoning", "reasoning_details", "thinking_blocks"}
)
"""Fields of an assistant message that carry reasoning back."""

SIGNED_ID = "signed_id"
"""The field in which the id of a call is sealed if it contains a signature; the client sees a short
one.
"""


SCHEMA_LESSON = "schema:"
"""The prefix of the lesson that a backend's grammar rejects a group of keywords."""

EFFORT_LESSON = "reasoning.effort:"
"""The prefix of the lesson that a backend accepts only the efforts that follow, separated by
commas.
"""

PLAIN_LESSON = "tools.plain:"
"""The prefix of the lesson that a backend refuses the schema with the digest that follows."""

VALUE = "="
"""Separates, in a lesson, a parameter from the value that a backend refuses, or from the digest of
that value.
"""

TAUGHT: Mapping[str, Mapping[str, Any]] = {
    "stream.always": {"always_streams": True},
    "sampling.both": {"both_samplings": False},
    "calls.ids": {"short_call_ids": True},
    "calls.signatures": {"signs_calls": True},
    "calls.tools": {"calls_without_tools": False},
    "tools.format": {"formats_with_tools": False},
    "tools.forced": {"forced_thinking": False},
    "tools.auto": {"forces_calls": False},
    "messages.first": {"system_messages": "first"},
    "messages.role": {"system_role": "system"},
    "messages.text": {"text_parts": False, "tool_parts": False},
    "messages.turns": {"alternating": True},
    "messages.content": {"call_content": ""},
    "text.format": {"json_formats": frozenset()},
}
"""What each lesson of `differences` and `plainest` changes in a dialect."""

NEXT_LESSON: Mapping[str, str] = {"tools.forced": "tools.auto"}
"""The lesson that follows if a backend refuses in the same way although the first was applied."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a family of backends accepts. The defaults are what most servers accept.

    >>> from antiphon.translation import find_dialect
    >>> dialect = find_dialect("https://api.deepseek.com/v1", owned_by=set(), server="", configured=None)
    >>> dialect.name
    'deepseek'
    """  # noqa: E501 - a table, a diagram or an example

    name: str
    system_role: Literal["system", "developer", "user"] = "system"
    """The role of instructions; `user` if the model's template has no role for them."""
    system_messages: SystemMessages = "first"
    """Which system messages are accepted.

    `first`: one, at the very beginning: chat templates raise otherwise, and gateways move later
    ones there. Later ones become marked user messages (`to_chat_completions.marks`). `late`: one at
    the beginning, and others behind other messages. `several`: any number anywhere.
    """
    call_content: Literal["null", "", "absent"] = "null"
    """`content` of an assistant message with calls and no text."""
    text_parts: bool = True
    """Whether text can be a list of parts; otherwise the parts are joined."""
    alternating: bool = False
    """Whether two consecutive messages with the same role are rejected; they are then joined."""
    refusal_field: bool = False
    """Whether an assistant message has a `refusal`; otherwise a refusal is sent as its text."""
    max_tokens: CapName = "max_tokens"
    accepts: frozenset[str] = USUAL
    """Optional Chat parameters that can be sent."""
    effort: EffortForm = ""
    """The form of `reasoning.effort`; empty if the family has none.

    `reasoning_effort`: that string. `reasoning`: an object with `effort`. `thinking`: `{"type":
    "enabled"}` or `disabled`, together with `reasoning_effort`. `enable_thinking`: a boolean.
    `chat_template_kwargs`: that boolean inside this object, for the model's chat template, together
    with `reasoning_effort`.
    """
    efforts: frozenset[str] = frozenset(EFFORTS)
    """Accepted efforts; another is replaced by the nearest."""
    reasoning: ReasoningField = ""
    """Where an assistant message carries its reasoning text back: a field name, Mistral's thinking
    parts, or tags.
    """
    replay: Replay = "never"
    """Which turns carry reasoning back: `tool_turns` are those in which the model called a tool."""
    reasoning_required: bool = False
    """Whether an assistant message with calls must have the reasoning field even without
    reasoning.
    """
    tool_choice: ChoiceForm = "named"
    """`full` accepts `allowed_tools` too, `named` a function's name, `strings` only `none`, `auto`
    and `required`; `functions` accepts a function's name and not `required`.
    """
    tools: Literal["native", "prompt", "schema"] = "native"
    """How tools are offered: in the parameter, or, if the backend has none, in the prompt
    (`prompt_tools.py`).

    `schema`: in the prompt, and a schema forces every answer into JSON, if the backend accepts
    schemas: for models that do not follow a format, and do not reason in their text.
    """
    text_calls: bool = False
    """Whether a call can arrive as text, in the format of the model's template: local model servers
    detect no calls, or only those of a format that they were started with. Services detect all
    calls, and text is text.
    """
    strict: bool = False
    """Whether `strict` of a function or a schema can be sent."""
    root_choices: bool = False
    """Whether the root of a tool's schema can be a choice or a reference; otherwise one object
    replaces it (`to_chat_completions.schema_roots`).
    """
    patterns: bool = False
    """Whether the backend enforces a schema's `pattern`; otherwise it is only checked
    afterwards.
    """
    json_formats: frozenset[str] = frozenset({"json_object", "json_schema"})
    """Accepted types of `response_format`; for others an instruction describes the format to the
    model.

    `json_object_schema` means a `json_object` with a `schema` next to its type.
    """
    file_part: Literal["", "file", "document_url"] = ""
    """How a non-text file is sent; empty if the family has no form for it."""
    file_urls: bool = False
    """Whether that part can contain a URL instead of data."""
    pdf_only: bool = False
    """Whether that part accepts only PDF files and images; all others are read here."""
    sees_images: bool = False
    """Whether the model is known to see images: then pages of a PDF are sent as images together
    with their text.
    """
    tool_parts: bool = False
    """Whether a tool's output can contain images; otherwise they move into the user message that
    follows.
    """
    breakpoints: bool = False
    """Whether parts of messages can have a `prompt_cache_breakpoint`: caching ends there."""
    short_call_ids: bool = False
    """Whether a call's id must be nine letters and digits."""
    calls_without_tools: bool = True
    """Whether a request without tools can have earlier calls; otherwise these and their results
    become text.
    """
    signs_calls: bool = False
    """Whether the first call of an answer must have Gemini's signature; a placeholder stands for an
    unknown one.
    """
    always_streams: bool = False
    """Whether an answer must be streamed; the answer to a client that wants none is then put
    together here.
    """
    both_samplings: bool = True
    """Whether a request can have both `temperature` and `top_p`; otherwise `top_p` is omitted."""
    formats_with_tools: bool = True
    """Whether a request can have both tools and a JSON format; otherwise an instruction describes
    the format, and the answer is checked here.
    """
    forced_thinking: bool = True
    """Whether a model that thinks can be forced to call a tool; otherwise thinking is switched off
    for that request.
    """
    forces_calls: bool = True
    """Whether a call can be forced at all; otherwise an instruction asks for it."""
    thinking_switch: EffortForm = ""
    """The form that switches thinking off, if it is not that of the effort."""
    api: Api | Literal["messages", "probe"] = "chat"
    """The API to use if the configuration does not set it; `probe` queries the server itself.
    `messages` is Anthropic's, called by a translated Chat request.

    `chat` if the family's own Responses API is known to do less than this server does over Chat, or
    is unknown.
    """
    one_at_a_time: bool = False
    """Whether any other request interrupts the stream of an answer, even a request for its
    models.
    """
    streams_hide_errors: bool = False
    """Whether a stream ends without an error in cases where a non-streamed answer has one."""
    cuts_prompts: bool = False
    """Whether it silently truncates a prompt that is too long: see
    `to_chat_completions.cut_prompts`.
    """
    prefill: Prefill = ""
    """How the model continues an assistant's text that ends the conversation; empty if it does not.

    `last`: without a parameter. `continue`: with vLLM's `continue_final_message`. `prefix`: with a
    `prefix` in that message.
    """
    ends_without_finish_reason: bool = False
    """Whether a complete answer can have an empty `finish_reason`."""
    prefix_cache: bool = False
    """Whether the server, run by the operator, caches the prompts that it read, and reads only the
    difference.
    """
    checks_answers: bool = False
    """Whether answers are checked here, and corrected if possible: arguments that are not JSON,
    text that violates its schema, a model that repeats itself. For local model servers; services
    handle this for their models.
    """
    unfit: frozenset[str] = frozenset()
    """Groups of keywords (`to_chat_completions.schemas`) that its grammars reject: learned, and
    removed from schemas.
    """
    plain_tools: frozenset[str] = frozenset()
    """Digests of schemas that are sent in their plainest form
    (`to_chat_completions.plain_schemas`): learned.
    """
    passthrough: frozenset[str] = frozenset()
    """Parameters outside the Responses API that are forwarded if the configuration names none."""
    hosts: tuple[str, ...] = field(default=(), compare=False)
    """Host names, or suffixes of them that begin with a dot."""
    ports: tuple[int, ...] = field(default=(), compare=False)
    """The default port on this machine."""
    owners: tuple[str, ...] = field(default=(), compare=False)
    """Values of `owned_by` in the list of models that only this family sends."""
    servers: tuple[str, ...] = field(default=(), compare=False)
    """The beginning of the `server` header, in lower case."""

    @property
    def takes_schemas(self) -> bool:
        """Whether a schema can constrain an answer."""
        return "response_format" in self.accepts and not self.json_formats.isdisjoint(_SCHEMAS)

    def formats_here(self, offers: Collection[Any]) -> bool:
        """Whether a JSON format can be sent together with these tools; otherwise this server checks
        the answer.
        """
        return bool(self.json_formats) and (self.formats_with_tools or not offers)

    def taught(self, lessons: frozenset[str]) -> "Dialect":
        """Return this dialect corrected by `lessons`, which `learned.refused_parameter` derived
        from a backend's errors.
        """
        if not lessons:
            return self
        required = next((name for name in _REPLAY_FIELDS if f"+{name}" in lessons), None)
        unfit = _named(SCHEMA_LESSON, lessons)
        silenced = not required and any(f"messages.{name}" in lessons for name in REASONING_FIELDS)
        changes = {
            field: value for lesson in lessons for field, value in TAUGHT.get(lesson, {}).items()
        }
        return replace(
            self,
            **changes,
            efforts=_efforts_left(self.efforts, lessons),
            accepts=self.accepts - lessons,
            max_tokens=next(
                (name for name in _CAP_NAMES[self.max_tokens] if name not in lessons), ""
            ),
            effort=_effort_left(self.effort, lessons),
            reasoning=required or self.reasoning,
            replay="never"
            if silenced
            else "tool_turns"
            if required and self.replay == "never"
            else self.replay,
            reasoning_required=bool(required) or (self.reasoning_required and not silenced),
            strict=self.strict and "strict" not in lessons and not unfit,
            unfit=self.unfit | unfit,
            plain_tools=self.plain_tools | _named(PLAIN_LESSON, lessons),
            tools="prompt" if "tools" in lessons and self.tools == "native" else self.tools,
        )

    def profiled(self, profile: ModelProfile) -> "Dialect":
        """Return this dialect for a model with this profile; unknown facts change nothing."""
        changes: dict[str, Any] = {}
        if profile.tools is not None:
            changes["tools"] = profile.tools
        if profile.text_calls:
            changes["text_calls"] = True
        # The Messages API has one form, also for a model that always thinks.
        if profile.thinking_control is not None and self.api != "messages":
            changes["effort"] = profile.thinking_control
        if profile.json_formats is not None:
            changes["json_formats"] = frozenset(profile.json_formats)
        if profile.json_held is False or "pattern" in (profile.rejected_keywords or ()):
            changes["patterns"] = False
        if profile.rejected_keywords:
            changes["unfit"] = self.unfit | groups_of(profile.rejected_keywords)
        if profile.system_role is False:
            changes |= {"system_role": "user", "alternating": True, "system_messages": "first"}
        elif profile.late_system is False:
            changes["system_messages"] = "first"
        elif profile.late_system and self.system_messages == "first":
            changes["system_messages"] = "late"
        if profile.vision:
            changes["sees_images"] = True
        return replace(self, **changes) if changes else self


def _named(prefix: str, lessons: frozenset[str]) -> frozenset[str]:
    """Return what the lessons with this prefix name."""
    return frozenset(one.removeprefix(prefix) for one in lessons if one.startswith(prefix))


_SCHEMAS = frozenset({"json_schema", "json_object_schema"})
_REPLAY_FIELDS: tuple[ReasoningField, ...] = ("reasoning_content", "reasoning")

_CAP_NAMES: Mapping[str, tuple[CapName, ...]] = {
    "max_tokens": ("max_tokens", "max_completion_tokens"),
    "max_completion_tokens": ("max_completion_tokens", "max_tokens"),
    "": (),
}
"""The names of the output limit in the order to try: a backend that rejects one accepts the
other.
"""

_EFFORTS_LEFT: Mapping[EffortForm, Mapping[str, EffortForm]] = {
    "": {},
    "reasoning_effort": {"reasoning_effort": ""},
    "reasoning": {"reasoning": ""},
    "thinking": {"thinking": "", "reasoning_effort": ""},
    "enable_thinking": {"enable_thinking": ""},
    "chat_template_kwargs": {"chat_template_kwargs": "reasoning_effort", "reasoning_effort": ""},
}
"""The Chat parameters of each form of the effort, with the form that remains if one is rejected."""


def _effort_left(form: EffortForm, lessons: frozenset[str]) -> EffortForm:
    """Return the form of the effort that uses nothing of `lessons`."""
    for name, left in _EFFORTS_LEFT[form].items():
        if name in lessons:
            return _effort_left(left, lessons)
    return form


def _efforts_left(efforts: frozenset[str], lessons: frozenset[str]) -> frozenset[str]:
    """Return the efforts that every lesson about them allows; those of the last one if none is
    left.
    """
    for lesson in sorted(lessons):
        if lesson.startswith(EFFORT_LESSON):
            allowed = frozenset(lesson.removeprefix(EFFORT_LESSON).split(","))
            efforts = efforts & allowed or allowed
    return efforts
