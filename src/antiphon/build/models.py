"""Turns the settings of single models into options of their backends."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from antiphon.config import ModelConfig, Settings
from antiphon.errors import ClientError, ConfigError, closest_name
from antiphon.protocol.presets import HOSTED, Preset
from antiphon.protocol.tool_lists import ToolList
from antiphon.protocol.tools import McpTool, ShellTool
from antiphon.protocol.validation.validate import read_request
from antiphon.translation.dialects.profile import FACTS, ModelProfile
from antiphon.translation.to_chat_completions.defaults import ModelDefaults, flaw
from antiphon.upstream.options import ANY, ModelOptions
from antiphon.upstream.prices import Prices, nano
from antiphon.upstream.registry import ModelRegistry

ONLY_PRESETS = ("instructions", "hosted_tools", "max_tool_calls")
"""Settings of a model's table that need `base`."""

OWN_KEYS = {"stop": "stop", "chat_template_kwargs": "chat_template_kwargs"}
"""Parameters with a key of their own in a model's table."""


def check_models(models: Sequence[ModelConfig], backends: Collection[str]) -> None:
    """Raise `ConfigError` for a model at a backend that does not exist, or with an invalid
    default.
    """
    for (name, backend), times in Counter((one.name, one.backend) for one in models).items():
        if times > 1:
            place = f" at the backend '{backend}'" if backend else ""
            raise ConfigError(f"{times} tables of `models` are about '{name}'{place}. Write one.")
    for one in models:
        if not one.name:
            raise ConfigError(
                "A table of `models` has an empty `name`. Name the model, "
                "or write `*` for every model."
            )
        if one.backend and one.backend not in backends:
            raise ConfigError(
                f"The model '{one.name}' names the backend '{one.backend}', which does not exist."
                f"{_hint(one.backend, backends)} The backends are: {', '.join(sorted(backends))}."
            )
        _check_parameters(one)
        _check_base(one, models)


def check_references(settings: Settings) -> None:
    """Raise `ConfigError` for a setting that names a model which no backend can have.

    A backend that lists its own models can have any model: this is certain only if the settings
    list all models.
    """
    if not settings.backends or any(
        not one.models or one.models == ANY for one in settings.backends
    ):
        return
    names = [name for one in settings.backends for name in (*one.models, *one.aliases)]
    for setting, name in references(settings):
        place, _, model = name.partition("/")
        is_at_backend = any(place == one.name and model for one in settings.backends)
        if name not in names and not (setting == "vision" and is_at_backend):
            text = (
                f"`{setting}` names the model '{name}', which no backend "
                f"serves.{_hint(name, names)}"
            )
            raise ConfigError(f"{text} The models are: {', '.join(sorted(set(names)))}.")


def references(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield the settings that name a model, each with that name."""
    images = () if settings.images_backend else ("images_model",)
    for setting in ("vision", "cache_embeddings", "search_embeddings", *images):
        if name := getattr(settings, setting):
            yield setting, name
    for model in settings.models:
        if model.base:
            yield f"base` of the preset `{model.name}", model.base
    for others in settings.fallback.values():
        for name in others:
            yield "fallback", name


def unknown_models(settings: Settings, registry: ModelRegistry) -> list[str]:
    """Return a sentence for each setting that names a model which no backend lists; none while a
    list is missing.
    """
    backends = registry.backends
    if any(one.error for one in backends):
        return []
    offered = [(one, model["id"]) for one in backends for model in one.offers()]
    names = [name for _, name in offered]
    at_backends = [f"{one.name}/{name}" for one, name in offered if one.options.label == one.name]
    reported = []
    for setting, name in references(settings):
        if not registry.serves(name):
            near = [*names, *at_backends] if setting == "vision" else names
            reported.append(
                f"`{setting}` names the model '{name}', which no backend lists.{_hint(name, near)}"
            )
    return reported


def hidden_models(agents: Collection[str], registry: ModelRegistry) -> list[str]:
    """Return a sentence for each model of a backend that no request reaches, since an agent has its
    name.
    """
    return [
        f"The model '{model['id']}' of the backend '{one.name}' has the name of an agent, so "
        "requests for it go to the agent. Rename the agent, or give the model an alias."
        for one in registry.backends
        for model in one.offers()
        if model["id"] in agents
    ]


def _hint(name: str, names: Collection[str]) -> str:
    near = closest_name(name, names)
    return f" Did you mean '{near}'?" if near else ""


def options_of(models: Sequence[ModelConfig], backend: str) -> Sequence[ModelOptions]:
    """Return the configuration for the models of this backend, general tables before specific
    ones.
    """
    own = [one for one in models if one.backend in {"", backend}]
    own.sort(key=lambda one: (one.name != ANY, bool(one.backend)))
    return [
        ModelOptions(
            one.name,
            _profile(one),
            _defaults(one),
            _prices(one),
            one.reserved_output_tokens,
            _preset(one),
            one.chat_completions,
        )
        for one in own
    ]


def _profile(config: ModelConfig) -> ModelProfile:
    return ModelProfile(**{name: getattr(config, name) for name in FACTS})


def _defaults(config: ModelConfig) -> ModelDefaults | None:
    own = {
        parameter: value for key, parameter in OWN_KEYS.items() if (value := getattr(config, key))
    }
    created = ModelDefaults(
        parameters=config.parameters | own,
        system_prompt=config.system_prompt,
        effort=config.effort,
        efforts={str(effort): parameters for effort, parameters in config.efforts.items()},
    )
    return created if created != ModelDefaults() else None


def _preset(config: ModelConfig) -> Preset | None:
    """Return what a preset adds to requests; None for the table of a model.

    Raises `ConfigError` for tools that a preset cannot have.
    """
    if not config.base:
        return None
    return Preset(
        base=config.base,
        instructions=config.instructions,
        tools=_tools(config) if config.hosted_tools else None,
        max_tool_calls=config.max_tool_calls,
    )


def _tools(config: ModelConfig) -> ToolList:
    where = f"hosted_tools of the preset '{config.name}'"
    try:
        request = {"model": config.base, "input": "Hi", "tools": [*config.hosted_tools]}
        tools = ToolList(read_request(request).tools or ())
    except ClientError as error:
        raise ConfigError(f"{where} is not valid: {error.message}") from error
    for tool in tools:
        if not isinstance(tool, HOSTED) or (isinstance(tool, ShellTool) and not tool.is_hosted):
            kind = type(tool).__struct_config__.tag
            raise ConfigError(
                f"{where} has a tool of type '{kind}', which only a client can run. Remove it."
            )
        if isinstance(tool, McpTool) and tool.require_approval != "never":
            raise ConfigError(
                f"{where} has the MCP server '{tool.server_label}' without `require_approval = "
                '"never"`. The clients of a preset cannot approve calls, so add it, and limit the '
                "tools with `allowed_tools` if necessary."
            )
    return tools


def _prices(config: ModelConfig) -> Prices | None:
    """Return the prices of a model.

    Raises `ConfigError` for one that is not a whole number of nano-units.
    """
    provided = config.prices
    if provided is None:
        return None
    cached = provided.input if provided.cached_input is None else provided.cached_input
    try:
        return Prices(nano(repr(provided.input)), nano(repr(cached)), nano(repr(provided.output)))
    except ValueError as error:
        raise ConfigError(
            f"The model '{config.name}' has a price that is not valid: {error}. Round it."
        ) from error


def _check_base(config: ModelConfig, models: Sequence[ModelConfig]) -> None:
    """Raise `ConfigError` for a preset of a preset, and for settings that need a preset."""
    if not config.base:
        extra = [name for name in ONLY_PRESETS if getattr(config, name)]
        if extra:
            raise ConfigError(
                f"The model '{config.name}' has `{extra[0]}` without `base`. Only a preset has it: "
                "give it a name of its own, and the model's name as `base`."
            )
    elif ANY in {config.name, config.base} or config.name == config.base:
        raise ConfigError(
            f"The preset '{config.name}' has '{config.base}' as `base`. Write the name of another "
            "model."
        )
    elif any(one.name == config.base and one.base for one in models):
        raise ConfigError(
            f"The preset '{config.name}' has the preset '{config.base}' as `base`. Write the name "
            "of a model."
        )


def _check_parameters(config: ModelConfig) -> None:
    places = {
        "parameters": config.parameters,
        **{f"efforts.{name}": one for name, one in config.efforts.items()},
    }
    for place, parameters in places.items():
        for name in parameters:
            reason = flaw(name)
            if place == "parameters" and name in OWN_KEYS:
                reason = f"`{name}` has a key of its own"
            if reason:
                raise ConfigError(
                    f"The model '{config.name}' has '{name}' in `{place}`: {reason}. Move or "
                    "remove it."
                )
