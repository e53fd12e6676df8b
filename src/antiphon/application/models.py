"""Turns the settings of single models into options of their backends."""

from collections import Counter
from collections.abc import Collection, Sequence

from antiphon.config import ModelConfig
from antiphon.errors import ConfigError
from antiphon.translation.dialects.profile import FACTS, ModelProfile
from antiphon.translation.to_chat.defaults import ModelDefaults, flaw
from antiphon.upstream.backend_state import ANY, ModelOptions
from antiphon.upstream.prices import Prices, nano

OWN_KEYS = {"stop": "stop", "chat_template_kwargs": "chat_template_kwargs"}
"""Parameters that have a key of their own in a model's table."""


def check_models(models: Sequence[ModelConfig], backends: Collection[str]) -> None:
    """Raise `ConfigError` for a model at a backend that does not exist, or with a default that cannot be one."""
    for (name, backend), times in Counter((one.name, one.backend) for one in models).items():
        if times > 1:
            place = f" at the backend '{backend}'" if backend else ""
            raise ConfigError(f"{times} tables of `models` are about '{name}'{place}. Write one.")
    for one in models:
        if not one.name:
            raise ConfigError("A table of `models` has an empty `name`. Name the model, or write `*` for every model.")
        if one.backend and one.backend not in backends:
            raise ConfigError(
                f"The model '{one.name}' names the backend '{one.backend}', which does not exist. "
                f"The backends are: {', '.join(sorted(backends))}."
            )
        _check_parameters(one)


def options_of(models: Sequence[ModelConfig], backend: str) -> Sequence[ModelOptions]:
    """Return what is configured for the models of this backend, the general before the particular."""
    own = [one for one in models if one.backend in {"", backend}]
    own.sort(key=lambda one: (one.name != ANY, bool(one.backend)))
    return [ModelOptions(one.name, _profile(one), _defaults(one), _prices(one)) for one in own]


def _profile(config: ModelConfig) -> ModelProfile:
    return ModelProfile(**{name: getattr(config, name) for name in FACTS})


def _defaults(config: ModelConfig) -> ModelDefaults | None:
    own = {parameter: value for key, parameter in OWN_KEYS.items() if (value := getattr(config, key))}
    made = ModelDefaults(
        parameters=config.parameters | own,
        system_prompt=config.system_prompt,
        effort=config.effort,
        efforts={str(effort): parameters for effort, parameters in config.efforts.items()},
    )
    return made if made != ModelDefaults() else None


def _prices(config: ModelConfig) -> Prices | None:
    """Return the prices of a model. Raises `ConfigError` for one that is no whole number of nano-units."""
    given = config.prices
    if given is None:
        return None
    cached = given.input if given.cached_input is None else given.cached_input
    try:
        return Prices(nano(repr(given.input)), nano(repr(cached)), nano(repr(given.output)))
    except ValueError as error:
        raise ConfigError(f"The model '{config.name}' has a price that is not valid: {error}. Round it.") from error


def _check_parameters(config: ModelConfig) -> None:
    places = {"parameters": config.parameters, **{f"efforts.{name}": one for name, one in config.efforts.items()}}
    for place, parameters in places.items():
        for name in parameters:
            reason = flaw(name)
            if place == "parameters" and name in OWN_KEYS:
                reason = f"`{name}` has a key of its own"
            if reason:
                raise ConfigError(f"The model '{config.name}' has '{name}' in `{place}`: {reason}. Move or remove it.")
