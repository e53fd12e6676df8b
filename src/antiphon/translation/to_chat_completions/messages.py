"""Translates items into Chat messages: the conversation in the form that one family of backends
accepts.
"""

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

from msgspec import Struct, field

from antiphon.errors import ClientError
from antiphon.protocol.items.calls import ToolSearchOutput
from antiphon.protocol.items.content import (
    MAX_CALL_ID,
    InputFile,
    InputImage,
    InputText,
    OutputText,
    Part,
    Refusal,
)
from antiphon.protocol.items.hosted import McpApprovalRequest
from antiphon.protocol.items.messages import Compaction, InputItem, ItemReference, Message, kinds_of
from antiphon.protocol.known_inputs import SentTexts
from antiphon.protocol.validation import refusals
from antiphon.protocol.validation.call_rules import OUTPUTS, Call, tie
from antiphon.translation.dialects.dialect import SIGNED_ID, Dialect
from antiphon.translation.files import DELETED, ReadFiles
from antiphon.translation.signed_calls import signature_of
from antiphon.translation.to_chat_completions.answers import (
    UNSIGNED,
    ChatMessage,
    ChatPart,
    assistant,
    call_id_for,
    moved_from,
    tool_content,
)
from antiphon.translation.to_chat_completions.history import (
    DISPLAYED,
    AssistantDraft,
    Content,
    Exchanges,
    Placed,
    becomes_message,
    group,
    visible,
)
from antiphon.translation.to_chat_completions.marks import (
    SYSTEM_ROLES,
    Token,
    beginning_of,
    marked,
    token_of_this_process,
    without_token,
)
from antiphon.translation.to_chat_completions.media import file_parts, image_part
from antiphon.translation.to_chat_completions.prefix import (
    INDEPENDENT,
    Messages,
    ModelConversation,
    Prefix,
    Rendering,
)
from antiphon.translation.to_chat_completions.reasoning import (
    Recalled,
    Unseal,
    nothing,
    recall,
    recall_signature,
    replays,
)
from antiphon.translation.to_chat_completions.shape import alternating
from antiphon.translation.tool_mapping.calls import called_tools, chat_call, output_of
from antiphon.translation.tool_mapping.offering import Toolbox


def chat_parts(
    parts: Sequence[Part], dialect: Dialect, param: str, files: ReadFiles | None = None
) -> list[ChatPart]:
    """Return the Chat parts of `parts`; `param` is the path of the list in the request, for errors.

    `files` are those that were read for the request. Raises `ClientError` for a file or an image
    that the backend cannot accept, and `UnreadFile` for a file that must be read first.
    """
    written: list[ChatPart] = []
    for index, part in enumerate(parts):
        if isinstance(part, InputText | OutputText):
            written.append({"type": "text", "text": part.text})
        elif isinstance(part, InputFile):
            written += file_parts(part, dialect, f"{param}[{index}]", files)
        else:
            written.append(_chat_part(part, f"{param}[{index}]"))
        if dialect.breakpoints and written and (wanted := getattr(part, BREAKPOINT, None)):
            written[-1] = {**written[-1], BREAKPOINT: wanted}
    return written


def _chat_part(part: Part, param: str) -> ChatPart:
    match part:
        case Refusal(refusal=text):
            return {"type": "text", "text": text}
        case InputImage():
            return image_part(part, param)
    raise refusals.invalid(param, "this content has no place here.")


def content_of(parts: list[ChatPart], dialect: Dialect) -> str | list[ChatPart]:
    """Return a message's `content`: a string if it is one text, otherwise a list of parts."""
    if len(parts) == 1 and parts[0]["type"] == "text" and BREAKPOINT not in parts[0]:
        text: str = parts[0]["text"]
        return text
    is_marked = dialect.breakpoints and any(BREAKPOINT in part for part in parts)
    if (
        is_marked
        or any(part["type"] != "text" for part in parts)
        or (len(parts) > 1 and dialect.text_parts)
    ):
        return parts
    return "\n\n".join(text_of(parts))


def text_of(parts: Iterable[ChatPart]) -> list[str]:
    """Return the texts among `parts`."""
    return [part["text"] for part in parts if part["type"] == "text"]


BREAKPOINT = "prompt_cache_breakpoint"
"""The field of a part that ends what is worth caching, the same in both APIs."""

MESSAGES = frozenset[type]({Message})
"""Items that never share an answer with others."""

UNSURE = frozenset[type]({Compaction, McpApprovalRequest, ToolSearchOutput})
"""Items that become no message, or replace others, depending on the items around them."""


def to_messages(
    items: Sequence[InputItem],
    instructions: str | None,
    dialect: Dialect,
    reasoning_context: str | None = None,
    *,
    toolbox: Toolbox | None = None,
    unseal: Unseal = nothing,
    history: int = 0,
    files: ReadFiles | None = None,
    opening: int = 0,
    token: Token = token_of_this_process,
) -> list[ChatMessage]:
    """Return the Chat messages for `items`, in order, with `instructions` first.

    The system messages before which nothing else becomes a message are one with the `instructions`,
    unless the dialect accepts several. `token` creates the token that marks later ones, where the
    dialect accepts none there.

    `toolbox` knows the names of the tools that are called; `unseal` opens the state that a client
    stores for us.

    `reasoning_context` is the request's `reasoning.context`: `current_turn` omits earlier turns'
    reasoning, `all_turns` sends it wherever the dialect has a field for it. `history` is how many
    of the items came before this request's own input: errors name `input[…]` as the client counts,
    and content of an earlier turn that this backend cannot accept is only mentioned.

    `files` are those that were read for the request. The first `opening` items, of `history`, are a
    prompt's messages.

    Raises `ClientError` for content that the dialect cannot express, and for an `item_reference`,
    which the history resolves before; `UnreadFile` for a file that must be read first.
    """
    toolbox = toolbox or Toolbox()
    first = [{"role": dialect.system_role, "content": instructions}] if instructions else []
    write = _Renderer(dialect, reasoning_context, toolbox, unseal, files, opening=opening)
    conversation = items if isinstance(items, ModelConversation) else None
    prefix = conversation.prefix if conversation is not None else None
    # found in this function, so that a request without any pays no call
    leading = 0
    is_late = False
    place = 0
    if dialect.system_messages != "several":
        is_first = True
        if prefix and prefix.is_apart:
            leading = prefix.leading
            is_late = prefix.has_late_system
            is_first = prefix.is_silent
            place = prefix.length
        for item in items[place:] if place else items:
            place += 1
            role = item.role if isinstance(item, Message) else ""
            if role in SYSTEM_ROLES:
                leading, is_late = (place, is_late) if is_first else (leading, True)
            elif is_first:
                is_first = role != "user" and not becomes_message(item)
        if is_late and not UNSURE.isdisjoint(kinds_of(items)):
            leading, is_late = _leading(visible(items, unseal))
        if is_late and dialect.system_messages == "first":
            write.token = token(beginning_of(items))
        if leading:
            write.history = history
            first = write.opened(items[:leading], instructions)
    cut = write.known(prefix, conversation, history, leading) if prefix and conversation else 0
    if conversation is not None and conversation.texts:
        conversation.texts.clear()  # the JSON of the request is not needed any more
    if not (prefix and cut):
        messages = [*first, *write.messages(items, history, leading)]
        return alternating(messages) if dialect.alternating else messages
    rest = write.messages(items[cut:], history - cut, continues=not _is_user(items[cut]))
    return Messages(first, prefix.rendering((dialect, reasoning_context, write.token)), cut, rest)


class _Renderer(Struct):
    """Writes items of a conversation in one dialect; the messages of a chain's earlier turns are
    not written again.
    """

    dialect: Dialect
    reasoning_context: str | None
    toolbox: Toolbox
    unseal: Unseal
    files: ReadFiles | None = None
    exchanges: Exchanges = field(default_factory=Exchanges)
    """The turns that are being written."""
    history: int = 0
    """How many of their items came before the request's own input."""
    opening: int = 0
    """How many of these are the messages of a prompt."""
    token: str = ""
    """The token that marks system messages, if the conversation has later ones and the dialect
    accepts none there.
    """

    def opened(self, items: Sequence[InputItem], instructions: str | None) -> list[ChatMessage]:
        """Return the instructions and the system messages that follow them as one, and their other
        content behind.
        """
        texts = [instructions] if instructions else []
        rest = list[ChatPart]()
        for index, item in enumerate(items):
            if isinstance(item, Message) and item.role in SYSTEM_ROLES:
                parts = self._parts(item.content, index, "content")
                texts.append("\n\n".join(text_of(parts)))
                rest += [part for part in parts if part["type"] != "text"]
        text = "\n\n".join(filter(None, texts))
        messages: list[ChatMessage] = (
            [{"role": self.dialect.system_role, "content": text}] if text else []
        )
        return [*messages, {"role": "user", "content": rest}] if rest else messages

    def messages(
        self,
        items: Sequence[InputItem],
        history: int,
        start: int = 0,
        *,
        are_past: bool = False,
        continues: bool = False,
    ) -> list[ChatMessage]:
        """Return the messages of turns that are independent of all other turns, from the item at
        `start` on.

        The first one `continues` a turn that has called tools before.
        """
        kinds = frozenset(map(type, items))
        if ItemReference in kinds:
            raise _unresolved(items)
        self.history = history
        messages: list[ChatMessage] = []
        if kinds <= MESSAGES:
            for index, item in enumerate(items[start:] if start else items, start):
                messages += self.message(index, item)
            return messages
        placed = self._visible(items) if not kinds <= DISPLAYED else list(enumerate(items))
        if start:
            placed = [one for one in placed if one[0] >= start]
        self.exchanges = exchanges = group(placed)
        exchanges.turn += are_past
        if continues:
            exchanges.tool_turns.add(0)
        for each in exchanges.groups:
            messages += self.answer(each) if isinstance(each, AssistantDraft) else self.stated(each)
        return messages

    def _visible(self, items: Sequence[InputItem]) -> list[Placed]:
        return visible(items, self.unseal, sees_images=self.dialect.sees_images)

    def known(self, prefix: Prefix, items: ModelConversation, history: int, leading: int) -> int:
        """Return a position where a turn or a step of it begins, before which all messages are
        known from now on.

        It is 0 for none.

        The `leading` items are not among these messages: those that become any are one with the
        instructions.
        """
        if prefix.log.has_files:
            return 0
        if (
            self.dialect.alternating
        ):  # the message before this position and the one after it can need merging
            return 0
        if history < prefix.length and not prefix.log.is_sent:
            return 0
        if not (prefix.is_sound and prefix.is_apart and kinds_of(items) <= INDEPENDENT):
            return 0
        cut = self._cut(items, prefix)
        if any(prefix.log.calls[call_id] < cut for call_id in prefix.open):
            return 0
        try:
            rendering = self._known_up_to(prefix, cut, leading, items.texts)
        except ClientError:
            return 0
        return (
            cut
            if cut in rendering.bounds
            else max(bound for bound in [*rendering.bounds] if bound < cut)
        )

    def _cut(self, items: Sequence[InputItem], prefix: Prefix) -> int:
        """Return the last position up to which every turn is over, or every step of the last one.

        A turn that is over can lose its reasoning, so its steps count only if the request does not
        ask for that.
        """
        if prefix.length < len(items) and _is_user(items[prefix.length]):
            return prefix.length
        return (
            prefix.last_user
            if self.reasoning_context == "current_turn"
            else max(prefix.last_user, prefix.last_step)
        )

    def _known_up_to(
        self, prefix: Prefix, cut: int, leading: int, texts: SentTexts | None
    ) -> Rendering:
        form = (self.dialect, self.reasoning_context, self.token)
        rendering = prefix.rendering(form)
        if any(self.toolbox.name_of(*tool) != name for tool, name in rendering.names.items()):
            rendering = prefix.render_again(form)
        if rendering.end < cut and not _begins(prefix.log.items, rendering.end):
            rendering = prefix.render_up_to(form, rendering.end - 1)
        if rendering.end < cut:
            new = prefix.log.items[rendering.end : cut]
            names = {tool: self.toolbox.name_of(*tool) for tool in called_tools(new)}
            used = self.files.used if self.files is not None else 0
            history = 0 if prefix.log.is_sent else cut
            begins = max(0, leading - rendering.end)
            continues = rendering.end > 0 and not _is_user(new[0])
            messages = self.messages(new, history, begins, are_past=True, continues=continues)
            if self.files is not None and self.files.used != used:
                prefix.log.has_files = True
                return rendering
            rendering.add(messages, cut, names, prefix.log.size, texts)
        return rendering

    def message(self, index: int, message: Any) -> list[ChatMessage]:
        """Return the messages of an item that has neither reasoning nor calls next to it."""
        if message.role == "assistant":
            return self.answer(AssistantDraft(0, messages=[message]))
        return self.stated((index, message))

    def stated(self, stated: Content) -> list[ChatMessage]:
        """A user or system message; content that a system message cannot contain follows as a user
        message.
        """
        index, message = stated
        parts = self._parts(message.content, index, "content")
        if message.role == "user":
            return [{"role": "user", "content": content_of(parts, self.dialect)}]
        own = self.dialect.system_role
        text = "\n\n".join(text_of(parts))
        role = own if message.role == "developer" or own == "user" else "system"
        rest = [part for part in parts if part["type"] != "text"]
        written: ChatMessage = {"role": role, "content": text}
        if self.token:
            written = {"role": "user", "content": marked(text, self.token)}
        return [written, {"role": "user", "content": rest}] if rest else [written]

    def answer(self, answer: AssistantDraft) -> list[ChatMessage]:
        """An assistant message, its calls' outputs, and the content that those outputs could not
        contain.
        """
        recalled = recall(answer.reasoning, self.dialect, self.unseal)
        if answer.reasoning and not replays(
            self.dialect,
            self.reasoning_context,
            is_current=answer.turn == self.exchanges.turn,
            has_calls=answer.turn in self.exchanges.tool_turns,
        ):
            recalled = recalled.without_reasoning()
        for call in answer.calls:
            if blob := signature_of(call):
                recall_signature(recalled, tie(call), blob, self.dialect, self.unseal)
        calls = [self._tool_call(call, recalled) for call in answer.calls]
        if (
            self.dialect.signs_calls
            and calls
            and not (recalled.signatures or recalled.calls.get(tie(answer.calls[0])))
        ):
            calls[0]["extra_content"] = UNSIGNED
        text, refusal = _spoken(answer.messages, self.dialect) if answer.messages else ("", "")
        message = assistant(text, refusal, recalled, calls, self.dialect)
        outputs, moved = self._outputs(answer, recalled)
        messages = [*message, *outputs, *([{"role": "user", "content": moved}] if moved else [])]
        if self.dialect.tools != "native" and (calls or outputs):
            from antiphon.translation.to_chat_completions.prompt_tools import in_words  # noqa: PLC0415 - few backends need it

            return in_words(messages)
        return messages

    def _outputs(
        self, answer: AssistantDraft, recalled: Recalled
    ) -> tuple[list[ChatMessage], list[ChatPart]]:
        messages: list[ChatMessage] = []
        moved: list[ChatPart] = []
        for index, output in sorted(answer.outputs, key=itemgetter(0)):
            call_id = self._id_of(output.call_id or tie(output), recalled)
            content = output_of(output)
            if type(content) is not str or self.token:
                parts = self._parts(content, index, "output")
                content = tool_content(parts, self.dialect)
                rest = [part for part in parts if part["type"] != "text"]
                if rest and not self.dialect.tool_parts:
                    names = {tie(call): chat_call(call, self.toolbox)[0] for call in answer.calls}
                    moved += [moved_from(call_id, names.get(tie(output))), *rest]
            messages.append({"role": "tool", "tool_call_id": call_id, "content": content})
        return messages, moved

    def _tool_call(self, call: Call, recalled: Recalled) -> dict[str, Any]:
        name, arguments = chat_call(call, self.toolbox)
        call_id = call.call_id or tie(call)
        function = {"name": name, "arguments": arguments}
        own = {"id": self._id_of(call_id, recalled), "type": "function", "function": function}
        if recalled.calls:
            own |= {
                name: value
                for name, value in recalled.calls.get(call_id, {}).items()
                if name != SIGNED_ID
            }
        return own

    def _id_of(self, call_id: str, recalled: Recalled) -> str:
        """Return the id for a call and its output: the backend's own, if that contains a
        signature.
        """
        signed: str | None = (
            recalled.calls.get(call_id, {}).get(SIGNED_ID) if recalled.calls else None
        )
        if signed:
            return signed
        is_unchanged = not self.dialect.short_call_ids and len(call_id) <= MAX_CALL_ID
        return call_id if is_unchanged else call_id_for(call_id, self.dialect)

    def _parts(self, content: Any, index: int, field: str) -> list[ChatPart]:
        """Return the parts of a text that the model did not write."""
        if isinstance(content, str):
            parts: list[ChatPart] = [{"type": "text", "text": content}]
        elif index < self.opening:
            parts = chat_parts(
                content, self.dialect, f"prompt.messages[{index}].{field}", self.files
            )
        elif index < self.history:
            parts = [part for each in content for part in self._remembered(each)]
        else:
            parts = chat_parts(
                content, self.dialect, f"input[{index - self.history}].{field}", self.files
            )
        return without_token(parts, self.token) if self.token else parts

    def _remembered(self, part: Any) -> list[ChatPart]:
        """An earlier turn's part; a conversation continues even if a model with other senses takes
        over (lesson L30).
        """
        try:
            return chat_parts([part], self.dialect, "input", self.files)
        except ClientError:
            return [{"type": "text", "text": DELETED}]


def _leading(items: Iterable[Placed]) -> tuple[int, bool]:
    """Return the position behind the leading system messages among visible items, and whether later
    ones follow.
    """
    end = 0
    is_first = True
    for place, item in items:
        if isinstance(item, Message) and item.role in SYSTEM_ROLES:
            if not is_first:
                return end, True
            end = place + 1
        elif is_first:
            is_first = not becomes_message(item)
    return end, False


def _begins(items: Sequence[InputItem], place: int) -> bool:
    """Return whether a turn or a step of it begins there.

    Else a message of a user followed there in another request, of which these items know nothing.
    """
    return not place or _is_user(items[place]) or type(items[place - 1]) in OUTPUTS


def _is_user(item: InputItem) -> bool:
    return isinstance(item, Message) and item.role == "user"


def _spoken(messages: Sequence[Message], dialect: Dialect) -> tuple[str, str]:
    """Return the text and the refusal of assistant messages; a refusal is text if the dialect has
    no field for it.
    """
    texts: list[str] = []
    refusals: list[str] = []
    for message in messages:
        parts = (
            [OutputText(text=message.content)]
            if isinstance(message.content, str)
            else message.content
        )
        apart = [part for part in parts if isinstance(part, Refusal) and dialect.refusal_field]
        refusals += [part.refusal for part in apart]
        texts.append(
            "".join(
                text_of(chat_parts([part for part in parts if part not in apart], dialect, "input"))
            )
        )
    return "\n\n".join(filter(None, texts)), "".join(refusals)


def _unresolved(items: Sequence[InputItem]) -> ClientError:
    item = next(item for item in items if isinstance(item, ItemReference))
    return ClientError(f"Item with id '{item.id}' not found.", status=404, param="input")
