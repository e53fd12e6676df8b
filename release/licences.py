"""The licences of all packages that a release installs, or has in its bundle."""

from collections.abc import Iterable

from release.components import Component

RULE = "=" * 100
ORIGINS = {"npm": " (in the console)"}
NO_TEXT = "The package contains no text of its licence."


def page(version: str, components: Iterable[Component]) -> str:
    """Return a table of names, versions and licences, then the texts."""
    ordered = sorted(components, key=lambda one: (one.kind != "pypi", one.name))
    width = max(len(title(one)) for one in ordered)
    table = "\n".join(f"{title(one):<{width}}  {one.licence}" for one in ordered)
    texts = "\n\n".join(
        f"{RULE}\n{title(one)}: {one.licence}\n{RULE}\n\n{text(one)}" for one in ordered
    )
    return (
        f"Packages that Antiphon {version} needs with all extras, and their "
        f"licences\n\n{table}\n\n{texts}\n"
    )


def title(component: Component) -> str:
    """Return name, version, and where it is used."""
    return f"{component.name} {component.version}{ORIGINS.get(component.kind, '')}"


def text(component: Component) -> str:
    """Return the texts that the package contains."""
    return "\n\n".join(component.texts) or NO_TEXT
