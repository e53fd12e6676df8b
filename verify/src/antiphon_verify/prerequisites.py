"""What must pass before a requirement can be judged, so that one fault is one root cause and not a
hundred failures.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from antiphon_verify.requirement import Verdict

Need = tuple[str, ...]
"""Requirements of which one must pass: they differ in detail, so no single one is the condition."""

CHAT = ("chat:answer:made",)
RESPONSE = ("responses:objects:made",)

MESSAGE = ("messages:answer:object",)

STREAM = ("responses:stream:whole",)

BACKGROUND = ("responses:background:at-once", "responses:background:told")

WINDOW = ("responses:background:window",)

KNOWN = ("responses:errors:unknown-parameter", "responses:background:window-shown")
"""Either shows that a server which accepts a window knows the parameter: others accept it because
they ignore it.
"""

CHAIN = ("responses:chain:taken", "responses:chain:after-stream")

PREWARMED = ("responses:prompt-cache:prewarm",)
DIAGNOSED = ("responses:prompt-cache:diagnostics",)

RESUMED = ("responses:resume:whole",)

RESUMING = ("after", "same", "end", "after-last", "after-word", "foreground", "unknown")
"""Requirements on resumed streams that need one."""

CONVERSATION = ("responses:conversations:created", "responses:conversations:retrieved")

USED = (
    *(
        "used",
        "used-object",
        "echoed",
        "appended",
        "counted",
        "streamed",
        "exclusive",
        "repeated-id",
    ),
    *("use-unknown", "recalled"),
)
"""Requirements on conversations that concern responses in them."""

WITH_FILES = ("attached", "batch", "failed", "unknown-file", "bad-attributes")
"""Requirements on vector stores, with cases that upload a file first."""

ATTACHED = ("chunking", "counted", "searched", "whole", "filtered", "content", "detached")
"""Requirements on vector stores that need an attached file."""

AGENT = ("responses:agents:made",)

COMPACTED = ("responses:compact:object", "responses:compact:item")

ECHOED = ("tools", "tool-choice", "parallel-tool-calls")
"""Parameters that each response has."""

LISTED = ("responses:mcp:list-item", "responses:mcp:list-before")

SEARCHED = ("responses:hosted:web-search-item", "responses:web-search:action")

SEARCHED_FILES = ("responses:file-search:item",)

STORE = (("responses:files:created",), ("responses:vector-stores:made",))
"""A vector store with a file."""

FILE_SEARCH = (
    *("order", "opened", "goes-on", "results-unasked", "results", "results-later", "other-store"),
    *("citations", "mark-cut", "cited"),
)
"""Requirements on file search that need a completed search."""

RAN_CODE = ("responses:code-interpreter:item",)

CODE = (
    *(
        "order",
        "code",
        "opened",
        "goes-on",
        "outputs-unasked",
        "outputs",
        "printed",
        "value",
        "outputs-later",
    ),
    *(
        "exception",
        "one-container",
        "state",
        "auto-again",
        "made-file",
        "citation",
        "cited",
        "figure",
        "figure-cited",
    ),
    *("by-id", "auto-files", "container-gone"),
)
"""Requirements on the code interpreter that need a call."""

DREW = ("responses:image-generation:item",)

IMAGES = (
    *(
        "format",
        "used",
        "opened",
        "partial",
        "goes-on",
        "usage",
        "stored",
        "chained",
        "by-id",
        "replayed",
    ),
    "edit-nothing",
)
"""Requirements on image generation that need an image."""

CONTAINER = ("responses:containers:created",)
FILE = ("responses:files:created",)

STORED_FILE = ("expires-after", "file-ids", "file-attached", "file-listed", "file-paged")
"""Requirements on containers, with cases that upload a file first."""

SEARCH = (
    "sources",
    "sources-unasked",
    "results-unasked",
    "citations",
    "cited",
    "goes-on",
    "max-tool-calls",
)
"""Requirements on web search that need a search."""

NEEDS: Mapping[str, tuple[Need, ...]] = {
    "chat:answer:made": (),
    "chat": (CHAT,),
    "chat:stream": (("chat:stream:streams",),),
    "chat:stream:streams": (CHAT,),
    "chat:stream:plain": (CHAT,),
    "chat:embeddings": (),
    **dict.fromkeys(
        ("chat:errors:streamed-tools", "chat:errors:streamed-tool-choice"),
        (CHAT, ("chat:errors:streamed",)),
    ),
    "chat:stored": (("chat:stored:retrieved",),),
    "chat:stored:retrieved": (CHAT,),
    "responses:objects:made": (),
    "responses": (RESPONSE,),
    "responses:agents": (AGENT,),
    AGENT[0]: (),
    "responses:agents:conversation": (AGENT, CONVERSATION),
    "responses:stream": (STREAM,),
    "responses:stream:whole": (RESPONSE,),
    "responses:order": (STREAM,),
    "responses:resume": (STREAM, BACKGROUND),
    **dict.fromkeys(
        (f"responses:resume:{name}" for name in RESUMING), (STREAM, BACKGROUND, RESUMED)
    ),
    "responses:cancel": (BACKGROUND,),
    "responses:background": (BACKGROUND,),
    **dict.fromkeys(BACKGROUND, (RESPONSE,)),
    "responses:background:whole": (("responses:background:completed",),),
    "responses:same": (STREAM,),
    **dict.fromkeys(
        (f"responses:replay:{name}" for name in ("streamed", "call", "reasoning")),
        (("responses:replay:text",),),
    ),
    "responses:compact:taken-back": (COMPACTED, ("responses:replay:text",)),
    **{f"responses:echo:{name}": ((f"responses:objects:{name}",),) for name in ECHOED},
    "responses:chain": (CHAIN,),
    **dict.fromkeys(CHAIN, (RESPONSE,)),
    "responses:compact": (COMPACTED,),
    "responses:compact:object": (RESPONSE,),
    "responses:compact:item": (RESPONSE,),
    "responses:conversations": (CONVERSATION,),
    **dict.fromkeys(
        (f"responses:conversations:{name}" for name in USED),
        (CONVERSATION, RESPONSE),
    ),
    "responses:conversations:unstored": (("responses:conversations:appended",),),
    "responses:conversations:created": (),
    "responses:conversations:retrieved": (),
    **dict.fromkeys(
        (f"responses:conversations:items-{name}" for name in ("listed", "ascending", "paged")),
        (("responses:conversations:first-items",),),
    ),
    **dict.fromkeys(
        (
            f"responses:errors:window-{name}{end}"
            for name in ("in-foreground", "with-stream", "at-another-tier")
            for end in ("", "-named")
        ),
        (WINDOW, KNOWN),
    ),
    "responses:files": (("responses:files:created",),),
    "responses:files:created": (),
    "responses:input-items": (("responses:input-items:list", "responses:input-items:ids"),),
    "responses:input-items:limit": (("responses:input-items:paging-keys",),),
    "responses:input-items:after": (("responses:input-items:limit",),),
    "responses:input-items:paging-keys": (("responses:input-items:list",),),
    "responses:input-items:list": (RESPONSE,),
    "responses:input-items:ids": (RESPONSE,),
    "responses:input-tokens": (("responses:input-tokens:count",),),
    "responses:input-tokens:count": (),
    "responses:list": (("responses:list:listed",),),
    "responses:list:listed": (RESPONSE,),
    "responses:mcp": (LISTED,),
    **dict.fromkeys(LISTED, (RESPONSE,)),
    "responses:mcp:error-item": (("responses:mcp:call-item",),),
    "responses:mcp:call-structured": (("responses:mcp:call-output",),),
    **dict.fromkeys(
        (f"responses:mcp:{name}" for name in ("no-address", "no-label", "same-label")), (RESPONSE,)
    ),
    **dict.fromkeys((f"responses:web-search:{name}" for name in SEARCH), (SEARCHED,)),
    "responses:file-search": (RESPONSE, *STORE),
    **dict.fromkeys((f"responses:file-search:{name}" for name in FILE_SEARCH), (SEARCHED_FILES,)),
    **dict.fromkeys((f"responses:code-interpreter:{name}" for name in CODE), (RAN_CODE,)),
    "responses:code-interpreter:by-id": (RAN_CODE, CONTAINER),
    "responses:code-interpreter:container-gone": (RAN_CODE, CONTAINER),
    "responses:code-interpreter:auto-files": (RAN_CODE, FILE),
    **dict.fromkeys((f"responses:image-generation:{name}" for name in IMAGES), (DREW,)),
    "responses:image-generation:endpoint": (),
    "responses:containers": (CONTAINER,),
    "responses:containers:created": (),
    **dict.fromkeys((f"responses:containers:{name}" for name in STORED_FILE), (CONTAINER, FILE)),
    **dict.fromkeys(
        (
            f"responses:containers:file-{name}"
            for name in ("object", "path", "retrieved", "content", "deleted")
        ),
        (("responses:containers:file-uploaded",),),
    ),
    **dict.fromkeys(
        (f"responses:prompt-cache:{name}" for name in ("usage", "streamed")), (PREWARMED,)
    ),
    "responses:prompt-cache:continued": (PREWARMED, CHAIN),
    "responses:prompt-cache:background": (PREWARMED, BACKGROUND),
    **dict.fromkeys(
        (f"responses:prompt-cache:{name}" for name in ("miss", "not-found")), (DIAGNOSED,)
    ),
    "responses:prompts": (("responses:prompts:created",),),
    "responses:prompts:created": (),
    **dict.fromkeys(
        (f"responses:prompts:{name}" for name in ("unknown", "no-object")), (RESPONSE,)
    ),
    "responses:hosted:web-search-order": (SEARCHED,),
    "responses:hosted:code-order": (("responses:hosted:code-item",),),
    "responses:hosted:image-order": (("responses:hosted:image-item",),),
    "responses:models": (("responses:models:list", "responses:models:entry"),),
    "responses:models:list": (),
    "responses:models:entry": (("responses:models:list",),),
    "responses:store:deleted": (("responses:store:retrieved",),),
    "responses:store:unstored": (("responses:store:retrieved",),),
    "responses:store:unknown": (("responses:store:retrieved",),),
    "responses:uploads": (("responses:uploads:created",),),
    "responses:uploads:created": (),
    "responses:vector-stores": (("responses:vector-stores:made",),),
    "responses:vector-stores:made": (),
    **dict.fromkeys((f"responses:vector-stores:{name}" for name in WITH_FILES), STORE),
    **dict.fromkeys(
        (f"responses:vector-stores:{name}" for name in ATTACHED),
        (("responses:vector-stores:attached",),),
    ),
    "responses:webhooks": (("responses:webhooks:created",),),
    "responses:webhooks:created": (),
    "responses:websocket": (("responses:websocket:created",),),
    "responses:websocket:created": (RESPONSE,),
    "responses:websocket:prewarm": (("responses:websocket:created",), PREWARMED),
    "responses:websocket:refused-well": (RESPONSE,),
    "messages": (MESSAGE,),
    MESSAGE[0]: (),
    "transport:sse": (RESPONSE,),
    "transport": ((*RESPONSE, *CHAT),),
}
"""By requirement, or by area or API for those without a row."""


ALTERNATIVES: Mapping[str, tuple[Need, ...]] = {
    one: (need[:place],)
    for needs in NEEDS.values()
    for need in needs
    for place, one in enumerate(need)
    if place and one.rpartition(":")[0] == need[0].rpartition(":")[0]
}
"""By a requirement that is enough where another of its area fails: if both fail, the other one is
the root.
"""


def needs_of(name: str) -> tuple[Need, ...]:
    """Return the prerequisites of a requirement: those of its own row, or of its area's, or of its
    API's.
    """
    places = (name, name.rpartition(":")[0], name.partition(":")[0])
    return next((NEEDS[place] for place in places if place in NEEDS), ())


def with_needs(names: set[str]) -> set[str]:
    """Return the ids of requirements, and of all their prerequisites."""
    found = set(names)
    rest = list(names)
    while rest:
        new = {each for need in needs_of(rest.pop()) for each in need} - found
        found |= new
        rest += new
    return found


def _blocked(root: str) -> tuple[Verdict, str]:
    return Verdict("blocked", f"It cannot be judged while {root} fails."), root


@dataclass(frozen=True, slots=True)
class Standing:
    """The outcomes of requirements, from their own verdicts and those of their prerequisites.

    `alone` are the verdicts of the cases that are about a requirement; a failure that another case
    finds in passing blocks nothing. A requirement without a verdict was not judged, and blocks
    nothing either.
    """

    verdicts: Mapping[str, Verdict]
    alone: Mapping[str, Verdict]

    def of(self, name: str) -> tuple[Verdict, str]:
        """Return the verdict on a requirement, and the id of the root cause if it is blocked,
        otherwise "".
        """
        return self._standing(name, self.verdicts[name], frozenset())

    def _standing(self, name: str, verdict: Verdict, above: frozenset[str]) -> tuple[Verdict, str]:
        """Return the verdict, and its root; `above` are the requirements with a standing that
        depends on this one.
        """
        if verdict.outcome == "not offered":
            return verdict, ""
        above |= {name}
        needs = (
            needs_of(name)
            if verdict.outcome != "failed"
            else (*needs_of(name), *ALTERNATIVES.get(name, ()))
        )
        hindrances = (self._hindrance(need, above) for need in needs)
        found = next((found for found in hindrances if found is not None), None)
        return found or self._caused(verdict, above) or (replace(verdict, outcome="failed"), "")

    def _caused(self, verdict: Verdict, above: frozenset[str]) -> tuple[Verdict, str] | None:
        """Return the verdict, and its root if it failed from the same cause as another one that has
        failed.

        None if that one was excluded: then the verdict stands as a failure of its own.
        """
        if verdict.outcome != "blocked":
            return verdict, ""
        one = verdict.root
        if one in above or one not in self.verdicts:
            return None
        its, root = self._standing(one, self.verdicts[one], above)
        return _blocked(root or one) if its.outcome in ("failed", "blocked") else None

    def _hindrance(self, need: Need, above: frozenset[str]) -> tuple[Verdict, str] | None:
        """Return the outcome of a requirement with this need, None if one of the needed
        requirements passes.
        """
        judged = [one for one in need if one in self.alone and one not in above]
        standing = [(one, *self._standing(one, self.alone[one], above)) for one in judged]
        words = {verdict.outcome for _, verdict, _ in standing}
        if len(standing) < len(need) or "passed" in words:
            return None
        for one, verdict, root in standing:
            if verdict.outcome in ("failed", "blocked"):
                return _blocked(root or one)
        one, verdict, _ = min(standing, key=lambda each: each[1].outcome != "skipped")
        word = "was skipped" if verdict.outcome == "skipped" else "is not offered"
        return Verdict(verdict.outcome, f"It needs {one}, which {word}: {verdict.came}"), ""
