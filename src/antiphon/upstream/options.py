"""The configuration of a backend, and of its models."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from antiphon.protocol.presets import Preset
from antiphon.translation.dialects.profile import NOTHING_KNOWN, ModelProfile
from antiphon.translation.to_chat_completions.defaults import ModelDefaults
from antiphon.upstream.prices import Prices

ANY = "*"
"""Among a backend's models: any requested name."""

LATEST = ":latest"

NUM_CTX = 65_536
"""Default tokens of the largest window of Ollama's models: its documentation recommends 64,000 for
agents.
"""


def is_listed(model: str, listed: Iterable[str]) -> bool:
    """Whether the model is among these. Ollama lists `llama3:latest` and accepts `llama3`."""
    return any(name in (model, model + LATEST) for name in listed)


ChatPath = Literal["auto", "forward", "run"]
"""Whether a chat completion is forwarded to the backend, or answered as a response."""


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """The configuration of a model: facts that replace measured ones, and defaults for its
    requests.
    """

    name: str
    """The name that clients use, or the backend's own; `*` for every model."""
    profile: ModelProfile = NOTHING_KNOWN
    defaults: ModelDefaults | None = None
    prices: Prices | None = None
    reserved_output: int | None = None
    """Tokens that a budget or token limit reserves for an answer if the request does not limit its
    length.
    """
    preset: Preset | None = None
    """What requests for this name get in addition, if it is a preset."""
    chat_completions: ChatPath | None = None
    """How chat completions reach it; None if nothing is configured."""

    def is_for(self, model: str, name: str) -> bool:
        """Whether this concerns the model that the backend calls `model` and clients call
        `name`.
        """
        return self.name in {ANY, name} or is_listed(self.name, [model])


@dataclass(frozen=True, slots=True)
class BackendOptions:
    """The configuration of a backend."""

    models: frozenset[str] = frozenset()
    """Names that it serves, `*` for any; empty for those that it lists."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Names that clients use, and the backend's own names for these models."""
    weight: float = 1.0
    concurrency: int = 0
    """Concurrent requests; 0 for no limit."""
    queue: int = 100
    """Requests that can wait in addition."""
    tenant_concurrency: int = 0
    """Concurrent requests of one tenant; 0 for the value of `concurrency`."""
    label: str = ""
    """The backend's name in responses to clients; empty for its own name."""
    key_env: str = ""
    """The environment variable that contains its key; empty if it has none."""
    api: Literal["auto", "chat", "responses", "messages", "ollama"] = "chat"
    """The API in which it is called; `auto` selects it by family, or by a probe."""
    num_ctx: int = NUM_CTX
    """Tokens of the largest window that Ollama loads models with."""
    keep_alive: str | int | None = None
    """How long Ollama keeps a model in memory after an answer; None leaves it to the server."""
    cache: bool = False
    """Its answers are cached."""
    cache_salt: bool = False
    """Its prefix cache is separated by tenant (`access/cache_salt.py`)."""
    passthrough: frozenset[str] | None = None
    """Parameters that are forwarded to it although the API does not have them; None for those of
    its family.
    """
    check_answers: bool | None = None
    """Whether its models' answers are checked and corrected; None for the default of its family."""
    plain_retry: bool = True
    """Whether a request that it refuses without a known reason is sent once more in its plainest
    form.
    """
    loop_calls: int = 4
    """Identical rounds of calls after which the model gets a note; twice as many end the response;
    0 for never.
    """
    loop_text: int = 8192
    """Repeated characters after which an answer ends; 0 for never."""
    configured: Sequence[ModelOptions] = ()
    """The configuration of its models; a later entry overrides an earlier one."""
    presets: Mapping[str, Preset] = field(init=False)
    """The presets among them, by name."""

    def __post_init__(self) -> None:
        presets = {one.name: one.preset for one in self.configured if one.preset is not None}
        object.__setattr__(self, "presets", presets)

    def base_of(self, name: str) -> str:
        """Return the model that answers requests for this name: another one for a preset."""
        preset = self.presets.get(name)
        return name if preset is None else preset.base
