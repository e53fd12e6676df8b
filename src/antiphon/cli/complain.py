"""How a command says what went wrong."""

from antiphon.errors import without_secrets


def complain(message: str) -> None:
    """Print what went wrong, on one line of standard error."""
    from rich.console import Console  # noqa: PLC0415 - a server that starts needs none

    line = f"antiphon: {' '.join(without_secrets(message).split())}"
    Console(stderr=True).print(line, style="red", markup=False, soft_wrap=True)
