"""Describe when the water is high. It has a mistake, which the tutorial of Codex repairs."""


def high_water(place: str, hour: int, minute: int) -> str:
    return f"{place}: high water at {hour}:{minute}"
