"""Signatures of methods that take their parameters from a typed dictionary, as people read them."""

import inspect
from collections.abc import Callable
from typing import Any, Required, TypeVar, get_args, get_origin

from antiphon.library.parameters import OPTION_NAMES

F = TypeVar("F", bound=Callable[..., Any])


class Absent:
    """The default of a parameter that can be absent, as signatures show it."""

    def __repr__(self) -> str:
        return "..."


ABSENT = Absent()


def spelled_out(method: F) -> F:
    """Name each parameter of `**parameters: Unpack[...]` in the signature that `help()` and editors
    show.

    Type checkers read them from the annotation. A parameter with the default `...` can be absent.
    The options of every call come last.
    """
    signature = inspect.signature(method)
    *named, rest = signature.parameters.values()
    (kind,) = get_args(rest.annotation)
    taken = {one.name for one in named}
    names = sorted(kind.__annotations__.keys() - taken, key=list(kind.__annotations__).index)
    names.sort(key=OPTION_NAMES.__contains__)
    added = [_parameter(kind, name, kind.__annotations__[name]) for name in names]
    method.__signature__ = signature.replace(parameters=[*named, *added])  # type: ignore[attr-defined]  # for inspect
    return method


def _parameter(kind: Any, name: str, annotation: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if name in kind.__required_keys__ else ABSENT
    if get_origin(annotation) is Required:
        (annotation,) = get_args(annotation)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )
