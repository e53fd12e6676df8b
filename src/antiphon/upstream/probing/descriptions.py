"""The facts that a backend reports about a model outside the API: its context window, its digest,
vision.

Nothing is generated for this. `QUESTIONS` lists where each family reports them, and `describe`
reads the answers.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from antiphon.translation.dialects.profile import NOTHING_KNOWN, ModelProfile
from antiphon.translation.ollama.model import member, read_model
from antiphon.upstream.context_window import stated_windows


class DescriptionRequest(Struct, frozen=True):
    """A request for a backend's facts: a GET, or a POST of a JSON object that names the model."""

    path: str
    is_post: bool = False
    body: Mapping[str, Any] = {}
    """The other fields of the posted object."""
    name: str = ""
    """The key of its answer, if several questions have one path."""

    @property
    def key(self) -> str:
        """The key of its answer."""
        return self.name or self.path


class Description(Struct, frozen=True):
    """The facts that a backend reports about a model."""

    profile: ModelProfile = NOTHING_KNOWN
    digest: str = ""
    """Changes when the model changes; empty if the backend reports nothing that would."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """By fact: where the backend reports it."""


Answers = Mapping[str, Any]
"""The JSON answers of a backend by `DescriptionRequest.key`; None for a path that it does not
know.
"""

OLLAMA_SHOW = "/../api/show"
OLLAMA_TAGS = "/../api/tags"
OLLAMA_PS = "/../api/ps"
LLAMACPP_PROPS = "/../props"
LLAMACPP_TEMPLATE = "/../apply-template"
LLAMACPP_FIRST = "first turn"
LLAMACPP_NEXT = "next turn"
LMSTUDIO_MODELS = "/../api/v0/models"

END = "harbour at noon"
"""The last words of the first turn that is rendered by a chat template."""

_CALL = {"id": "call00001", "type": "function", "function": {"name": "look", "arguments": "{}"}}
_FIRST_TURN = [
    {"role": "user", "content": "Where is the ship?"},
    {
        "role": "assistant",
        "content": "",
        "reasoning_content": "I have to look.",
        "tool_calls": [_CALL],
    },
    {"role": "tool", "tool_call_id": "call00001", "content": END},
]
_NEXT_TURN = [
    *_FIRST_TURN,
    {"role": "assistant", "content": "In port."},
    {"role": "user", "content": "And now?"},
]

QUESTIONS: Mapping[str, Sequence[DescriptionRequest]] = {
    "ollama": (
        DescriptionRequest(OLLAMA_SHOW, is_post=True),
        DescriptionRequest(OLLAMA_TAGS),
        DescriptionRequest(OLLAMA_PS),
    ),
    "llamacpp": (
        DescriptionRequest(LLAMACPP_PROPS),
        DescriptionRequest(
            LLAMACPP_TEMPLATE, is_post=True, body={"messages": _FIRST_TURN}, name=LLAMACPP_FIRST
        ),
        DescriptionRequest(
            LLAMACPP_TEMPLATE, is_post=True, body={"messages": _NEXT_TURN}, name=LLAMACPP_NEXT
        ),
    ),
    "lmstudio": (DescriptionRequest(LMSTUDIO_MODELS),),
}
"""Family -> where it reports facts about a model; every family has its list of models in
addition.
"""


def describe(dialect: str, model: str, listed: Mapping[str, Any], answers: Answers) -> Description:
    """Return the facts that a backend of this family reports about a model; `listed` is its object
    in the list.
    """
    found = _READERS[dialect](model, listed, answers) if dialect in _READERS else Description()
    return found if found.profile.context_window is not None else _with_listed(found, listed)


def is_remote(model: str, answers: Answers) -> bool:
    """Whether a local Ollama passes requests for this model to its paid service."""
    return read_model(model, answers.get(OLLAMA_SHOW), None).is_remote


def _ollama(model: str, listed: Mapping[str, Any], answers: Answers) -> Description:
    """`/api/ps` reports the window of a loaded model, `/api/show` the model's `num_ctx` and its
    capabilities.

    `model_info` has the window that the model was trained for: Ollama loads it with a smaller one
    by default.
    """
    stated = read_model(model, answers.get(OLLAMA_SHOW), answers.get(OLLAMA_PS))
    loaded = member(_object(answers.get(OLLAMA_PS)).get("models"), model, "name", "model")
    tagged = member(_object(answers.get(OLLAMA_TAGS)).get("models"), model, "name", "model")
    window = stated.loaded or stated.modelfile
    if window is not None and stated.trained is not None:
        window = min(window, stated.trained)
    facts: dict[str, Any] = {"context_window": window}
    if (able := stated.capabilities) is not None:
        facts |= {"vision": "vision" in able, "tools": None if "tools" in able else "prompt"}
    digest = tagged.get("digest") or loaded.get("digest")
    place = "/api/ps" if stated.loaded else "/api/show"
    return _described(
        facts, _text(digest), {"context_window": place, "vision": "/api/show", "tools": "/api/show"}
    )


def _llamacpp(model: str, listed: Mapping[str, Any], answers: Answers) -> Description:
    """`/props` reports the window of a slot, the model's input types, its file, its template and
    what that renders.

    A template without tools drops them silently, with calls and a demanded call. `/apply-template`
    returns the rendered template, without generating anything. While the server loads a model,
    `/props` does not answer and the list has no `meta`: then nothing identifies the model.
    """
    props = _object(answers.get(LLAMACPP_PROPS))
    vision = _object(props.get("modalities")).get("vision")
    renders_tools = _object(props.get("chat_template_caps")).get("supports_tools")
    facts = {
        "tools": "prompt" if renders_tools is False else None,
        "context_window": _count(_object(props.get("default_generation_settings")).get("n_ctx")),
        "vision": vision if isinstance(vision, bool) else None,
        "stable_template": _is_stable(answers),
    }
    known = [props.get("model_path"), props.get("chat_template"), _object(listed.get("meta"))]
    is_loaded = any(known[:2]) and listed.get("meta", known) is not None
    return _described(
        facts, _digest(known) if is_loaded else "", dict.fromkeys(facts, "/props") | _WRITTEN
    )


_WRITTEN = {"stable_template": "/apply-template"}


def _is_stable(answers: Answers) -> bool | None:
    """Whether a prompt begins with the prompt of the previous turn; None if the template renders no
    such turn.
    """
    first, after = (
        _text(_object(answers.get(key)).get("prompt")) for key in (LLAMACPP_FIRST, LLAMACPP_NEXT)
    )
    end = first.rfind(END)
    return after.startswith(first[: end + len(END)]) if end >= 0 and after else None


def _lmstudio(model: str, listed: Mapping[str, Any], answers: Answers) -> Description:
    """`/api/v0/models` reports the window of a loaded model, and whether it accepts images."""
    one = member(_object(answers.get(LMSTUDIO_MODELS)).get("data"), model, "id")
    kind = one.get("type")
    facts = {
        "context_window": _count(one.get("loaded_context_length")),
        "vision": kind == "vlm" if kind in {"vlm", "llm"} else None,
    }
    known = [
        one.get(name)
        for name in ("publisher", "arch", "quantization", "compatibility_type", "type")
    ]
    return _described(
        facts, _digest(known) if any(known) else "", dict.fromkeys(facts, "/api/v0/models")
    )


def _vllm(model: str, listed: Mapping[str, Any], answers: Answers) -> Description:
    """The list of models has the folder of the model, and `max_model_len`, which `_with_listed`
    reads.
    """
    known = [listed.get("root"), listed.get("parent"), listed.get("max_model_len")]
    return Description(digest=_digest(known) if listed.get("root") else "")


_READERS: Mapping[str, Callable[[str, Mapping[str, Any], Answers], Description]] = {
    "ollama": _ollama,
    "llamacpp": _llamacpp,
    "lmstudio": _lmstudio,
    "vllm": _vllm,
    "sglang": _vllm,
}


def _with_listed(found: Description, listed: Mapping[str, Any]) -> Description:
    for name, window in stated_windows(listed):
        profile = found.profile.under(ModelProfile(context_window=window))
        return Description(
            profile, found.digest, {**found.sources, "context_window": f"/models, {name}"}
        )
    return found


def _described(facts: Mapping[str, Any], digest: str, sources: Mapping[str, str]) -> Description:
    profile = ModelProfile(**facts)
    return Description(profile, digest, {name: sources[name] for name in profile.known()})


def _digest(known: Sequence[Any]) -> str:
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
