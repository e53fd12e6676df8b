"""What the registration of an agent of any framework rejects."""


def check_once(tool: str, *, is_async: bool) -> None:
    """Raise `TypeError` for a synchronous tool that is to run at most once."""
    if not is_async:
        raise TypeError(
            f"The synchronous tool {tool!r} cannot run at most once: its thread cannot be stopped, "
            "so it could still take effect after its response has ended. Make it an async function."
        )
