"""What must pass before a requirement can be judged, so that one fault is one root cause and not a hundred failures."""

from collections.abc import Mapping
from dataclasses import dataclass

from antiphon.conformance.requirement import Verdict

Need = tuple[str, ...]
"""Requirements of which one must pass: they differ in detail, so no single one is the condition."""

CHAT, RESPONSE = ("chat:answer:made",), ("responses:objects:made",)

STREAM = ("responses:stream:whole",)

BACKGROUND = ("responses:background:at-once", "responses:background:told")

CONVERSATION = ("responses:conversations:created", "responses:conversations:retrieved")

USED = (
    *("used", "used-object", "echoed", "appended", "counted", "streamed", "exclusive", "repeated-id"),
    *("use-unknown", "recalled"),
)
"""Requirements on conversations that concern responses in them."""

LISTED = ("responses:mcp:list-item", "responses:mcp:list-before")

SEARCHED = ("responses:hosted:web-search-item", "responses:web-search:action")

SEARCHED_FILES = ("responses:file-search:item",)

FILE_SEARCH = (
    *("order", "goes-on", "results-unasked", "results", "results-later", "other-store"),
    *("citations", "mark-cut", "cited"),
)
"""Requirements on file search that need a completed search."""

RAN_CODE = ("responses:code-interpreter:item",)

CODE = (
    *("order", "code", "opened", "goes-on", "outputs-unasked", "outputs", "printed", "value", "outputs-later"),
    *("exception", "one-container", "state", "auto-again", "made-file", "citation", "cited", "figure", "figure-cited"),
    *("by-id", "auto-files", "container-gone"),
)
"""Requirements on the code interpreter that need a call."""

DREW = ("responses:image-generation:item",)

IMAGES = (
    *("format", "used", "opened", "partial", "goes-on", "usage", "stored", "chained", "by-id", "replayed"),
    "edit-nothing",
)
"""Requirements on image generation that need an image."""

CONTAINER = ("responses:containers:created",)

SEARCH = ("sources", "sources-unasked", "results-unasked", "citations", "cited", "goes-on", "max-tool-calls")
"""Requirements on web search that need a search."""

NEEDS: Mapping[str, tuple[Need, ...]] = {
    "chat:answer:made": (),
    "chat": (CHAT,),
    "chat:stream": (("chat:stream:streams",),),
    "chat:stream:streams": (CHAT,),
    "chat:stream:plain": (CHAT,),
    "chat:embeddings": (),
    "chat:stored": (("chat:stored:retrieved",),),
    "chat:stored:retrieved": (CHAT,),
    "responses:objects:made": (),
    "responses": (RESPONSE,),
    "responses:stream": (STREAM,),
    "responses:stream:whole": (RESPONSE,),
    "responses:order": (STREAM,),
    "responses:resume": (STREAM, BACKGROUND),
    "responses:cancel": (BACKGROUND,),
    "responses:background": (BACKGROUND,),
    **dict.fromkeys(BACKGROUND, (RESPONSE,)),
    "responses:same": (STREAM,),
    "responses:chain": (("responses:chain:taken", "responses:chain:after-stream"),),
    "responses:chain:taken": (RESPONSE,),
    "responses:chain:after-stream": (RESPONSE,),
    "responses:compact": (("responses:compact:object", "responses:compact:item"),),
    "responses:compact:object": (RESPONSE,),
    "responses:compact:item": (RESPONSE,),
    "responses:conversations": (CONVERSATION,),
    **dict.fromkeys(
        (f"responses:conversations:{name}" for name in USED),
        (CONVERSATION, RESPONSE),
    ),
    "responses:conversations:created": (),
    "responses:conversations:retrieved": (),
    **dict.fromkeys(
        (f"responses:conversations:items-{name}" for name in ("listed", "ascending", "paged")),
        (("responses:conversations:first-items",),),
    ),
    "responses:files": (("responses:files:created",),),
    "responses:files:created": (),
    "responses:input-items": (("responses:input-items:list", "responses:input-items:ids"),),
    "responses:input-items:list": (RESPONSE,),
    "responses:input-items:ids": (RESPONSE,),
    "responses:input-tokens": (("responses:input-tokens:count",),),
    "responses:input-tokens:count": (),
    "responses:list": (("responses:list:listed",),),
    "responses:list:listed": (RESPONSE,),
    "responses:mcp": (LISTED,),
    **dict.fromkeys(LISTED, (RESPONSE,)),
    **dict.fromkeys((f"responses:mcp:{name}" for name in ("no-address", "no-label", "same-label")), (RESPONSE,)),
    **dict.fromkeys((f"responses:web-search:{name}" for name in SEARCH), (SEARCHED,)),
    **dict.fromkeys((f"responses:file-search:{name}" for name in FILE_SEARCH), (SEARCHED_FILES,)),
    **dict.fromkeys((f"responses:code-interpreter:{name}" for name in CODE), (RAN_CODE,)),
    **dict.fromkeys((f"responses:image-generation:{name}" for name in IMAGES), (DREW,)),
    "responses:image-generation:endpoint": (),
    "responses:containers": (CONTAINER,),
    "responses:containers:created": (),
    **dict.fromkeys(
        (f"responses:containers:file-{name}" for name in ("object", "path", "retrieved", "content", "deleted")),
        (("responses:containers:file-uploaded",),),
    ),
    "responses:prompts": (("responses:prompts:created",),),
    "responses:prompts:created": (),
    **dict.fromkeys((f"responses:prompts:{name}" for name in ("unknown", "no-object")), (RESPONSE,)),
    "responses:hosted:web-search-order": (SEARCHED,),
    "responses:hosted:code-order": (("responses:hosted:code-item",),),
    "responses:hosted:image-order": (("responses:hosted:image-item",),),
    "responses:models": (("responses:models:list", "responses:models:entry"),),
    "responses:models:list": (),
    "responses:models:entry": (),
    "responses:store:deleted": (("responses:store:retrieved",),),
    "responses:store:unstored": (("responses:store:retrieved",),),
    "responses:store:unknown": (("responses:store:retrieved",),),
    "responses:uploads": (("responses:uploads:created",),),
    "responses:uploads:created": (),
    "responses:vector-stores": (("responses:vector-stores:made",),),
    "responses:vector-stores:made": (),
    **dict.fromkeys(
        (f"responses:vector-stores:{name}" for name in ("counted", "searched", "filtered", "content", "detached")),
        (("responses:vector-stores:attached",),),
    ),
    "responses:webhooks": (("responses:webhooks:created",),),
    "responses:webhooks:created": (),
    "responses:websocket": (("responses:websocket:created",),),
    "responses:websocket:created": (RESPONSE,),
    "responses:websocket:refused-well": (RESPONSE,),
    "transport:sse": (RESPONSE,),
    "transport": ((*RESPONSE, *CHAT),),
}
"""By requirement, or by area or API for those without a row."""


def needs_of(name: str) -> tuple[Need, ...]:
    """Return the prerequisites of a requirement: those of its own row, or of its area's, or of its API's."""
    places = (name, name.rpartition(":")[0], name.partition(":")[0])
    return next((NEEDS[place] for place in places if place in NEEDS), ())


def with_needs(names: set[str]) -> set[str]:
    """Return the ids of requirements, and of all their prerequisites."""
    found, rest = set(names), list(names)
    while rest:
        new = {each for need in needs_of(rest.pop()) for each in need} - found
        found |= new
        rest += new
    return found


@dataclass(frozen=True, slots=True)
class Standing:
    """The outcomes of requirements, from their own verdicts and those of their prerequisites.

    `alone` are the verdicts of the cases that are about a requirement; a failure that another case finds in passing
    blocks nothing. A requirement without a verdict was not judged, and blocks nothing either.
    """

    verdicts: Mapping[str, Verdict]
    alone: Mapping[str, Verdict]

    def of(self, name: str) -> tuple[Verdict, str]:
        """Return the verdict on a requirement, and the id of the root cause if it is blocked, otherwise ""."""
        return self._standing(name, self.verdicts[name])

    def _standing(self, name: str, verdict: Verdict) -> tuple[Verdict, str]:
        if verdict.outcome == "not offered":
            return verdict, ""
        hindrances = (self._hindrance(need) for need in needs_of(name))
        return next((found for found in hindrances if found is not None), (verdict, ""))

    def _hindrance(self, need: Need) -> tuple[Verdict, str] | None:
        """Return the outcome of a requirement with this need, None if one of the needed requirements passes."""
        standing = [(one, *self._standing(one, self.alone[one])) for one in need if one in self.alone]
        words = {verdict.outcome for _, verdict, _ in standing}
        if len(standing) < len(need) or "passed" in words:
            return None
        for one, verdict, root in standing:
            if verdict.outcome in ("failed", "blocked"):
                return Verdict("blocked", f"It cannot be judged while {root or one} fails."), root or one
        one, verdict, _ = min(standing, key=lambda each: each[1].outcome != "skipped")
        word = "was skipped" if verdict.outcome == "skipped" else "is not offered"
        return Verdict(verdict.outcome, f"It needs {one}, which {word}: {verdict.came}"), ""
