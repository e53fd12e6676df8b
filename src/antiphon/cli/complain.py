"""How a command says what went wrong."""

from collections.abc import Iterable

from antiphon.errors import meant, without_secrets


def complain(message: str) -> None:
    """Print what went wrong, on one line of standard error."""
    from rich.console import Console  # noqa: PLC0415 - a server that starts needs none

    line = f"antiphon: {' '.join(without_secrets(message).split())}"
    Console(stderr=True).print(line, style="red", markup=False, soft_wrap=True)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a sentence, after a space, that suggests one of these names; empty where none is near."""
    near = meant(name, names)
    return f" Did you mean '{near}'?" if near else ""
