"""The choice among the tools in force, in the forms that a dialect accepts (specification section
6, `tool_choice`).
"""

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import UNSET

from antiphon.errors import ClientError
from antiphon.protocol.tool_bindings import Kind, Offer
from antiphon.protocol.tools import (
    AllowedTools,
    ApplyPatchChoice,
    Choice,
    CodeInterpreterChoice,
    ComputerChoice,
    ComputerUseChoice,
    ComputerUsePreviewChoice,
    CustomChoice,
    DatedWebSearchChoice,
    DatedWebSearchPreviewChoice,
    FileSearchChoice,
    FunctionChoice,
    HostedChoice,
    ImageGenerationChoice,
    LocalShellChoice,
    McpChoice,
    NamespaceChoice,
    ShellChoice,
    ToolChoice,
    ToolSearchChoice,
    WebSearchPreviewChoice,
)
from antiphon.translation.dialects.dialect import Dialect
from antiphon.translation.to_chat_completions.adjustments import SCHEMAS
from antiphon.translation.to_chat_completions.schema_reading import SchemaBudget
from antiphon.translation.to_chat_completions.schema_roots import completed, flattened, is_flat
from antiphon.translation.to_chat_completions.schemas import projected
from antiphon.translation.tool_mapping.offering import Toolbox

ChatChoice = str | dict[str, Any] | None

_COMPUTERS: tuple[Kind, ...] = ("computer", "computer_use_preview")


def chat_tools(
    offers: Iterable[Offer], dialect: Dialect, adjusted: list[str]
) -> list[dict[str, Any]]:
    """Return the `tools` of a Chat request, with schemas that the dialect accepts; `adjusted` names
    what differs.
    """
    functions = [chat_function(offer) for offer in offers]
    budget: SchemaBudget | None = None
    for function in functions:
        provided = function["parameters"]
        if not (dialect.root_choices or is_flat(provided)):
            budget = budget or SchemaBudget()
            _flatten(function, budget)
        if dialect.unfit:
            function["parameters"] = projected(function["parameters"], dialect.unfit)
        if dialect.plain_tools:
            _simplify(function, dialect.plain_tools)
        if (
            function["parameters"] is not provided
            and function["parameters"] != provided
            and SCHEMAS not in adjusted
        ):
            adjusted.append(SCHEMAS)
    return [{"type": "function", "function": function} for function in functions]


def _flatten(function: dict[str, Any], budget: SchemaBudget) -> None:
    """Give the schema of a function an object as its root; a strict schema would require every
    property of that.
    """
    function["parameters"], words = flattened(function["parameters"], budget)
    function["description"] = "\n\n".join(filter(None, (function.get("description"), words)))
    function.pop("strict", None)


def _simplify(function: dict[str, Any], refused: frozenset[str]) -> None:
    """Give a function its plainest schema if the backend refused the one that it has."""
    from antiphon.translation.to_chat_completions.plain_schemas import digest_of, plain  # noqa: PLC0415 - few backends need it

    if digest_of(function["parameters"]) in refused:
        if not is_flat(function["parameters"]):
            _flatten(function, SchemaBudget())
        function["parameters"] = plain(function["parameters"]) or function["parameters"]
        function.pop("strict", None)


def chat_function(offer: Offer) -> dict[str, Any]:
    """Return a tool as a function: its name, its description, and the schema of its arguments."""
    function: dict[str, Any] = {"name": offer.chat_name}
    if offer.description is not None:
        function["description"] = offer.description
    function["parameters"] = completed(offer.parameters)
    return function | ({"strict": True} if offer.strict else {})


def tool_choice(
    toolbox: Toolbox, choice: ToolChoice | None, dialect: Dialect
) -> tuple[list[Offer], ChatChoice]:
    """Return the tools to send and the `tool_choice` for them, None if it has no effect.

    What the dialect cannot express is done by sending only the tools that can be called; a named
    tool where no call can be forced is demanded in words (`demand`). Raises `ClientError` if the
    choice names no tool in force, requires one that only a server can run, or forces a call on a
    backend that cannot be forced.
    """
    offers = toolbox.offered
    if isinstance(choice, McpChoice) and not choice.name:
        choice = AllowedTools(mode="required", tools=[choice])
    if isinstance(choice, AllowedTools):
        return _allowed(toolbox, choice, dialect)
    if isinstance(choice, Choice):
        return _named(offers, choice, dialect)
    if choice == "required" and not offers and toolbox.left_out:
        raise unsupported(toolbox.left_out[0])
    return _mode(offers, choice, dialect)


def allowed_names(
    toolbox: Toolbox, choice: ToolChoice | None, dialect: Dialect
) -> frozenset[str] | None:
    """Return the names that the model can call, as the backend knows them; None if it can call any.

    The backend receives the choice too, but some ignore it, and where no call can be forced, the
    model can ignore the instruction. Raises as `tool_choice`.
    """
    if choice == "none":
        return frozenset()
    if isinstance(choice, AllowedTools):
        return _names(toolbox, choice)
    if (
        dialect.forces_calls
        or not isinstance(choice, Choice)
        or (isinstance(choice, McpChoice) and not choice.name)
    ):
        return None
    return frozenset({chosen(toolbox.offered, choice)[0].chat_name})


def relaxed(choice: ToolChoice | None) -> ToolChoice | None:
    """Return the choice after this server ran a call: the requirement is met, and the model can
    answer.
    """
    if isinstance(choice, AllowedTools):
        return AllowedTools(mode="auto", tools=choice.tools)
    return choice if choice in (None, "none", "auto") else "auto"


def unsupported(type: str) -> ClientError:
    """Return the error for a choice that requires a tool which is not offered to the model."""
    return ClientError(
        f"Tool choice '{type}' is not supported by this server: it does not run this tool.",
        code="unsupported_value",
        param="tool_choice",
    )


def demand(toolbox: Toolbox, choice: ToolChoice | None) -> str:
    """Return the instruction to call a tool, for a backend that cannot be forced; empty if no call
    is required.
    """
    if isinstance(choice, AllowedTools):
        choice = "required" if choice.mode == "required" else "auto"
    if choice in (None, "none", "auto") or not toolbox.offered:
        return ""
    if choice == "required":
        return "Answer with a call of one of the tools, and with no text."
    named = chosen(toolbox.offered, choice)[0] if isinstance(choice, Choice) else toolbox.offered[0]
    return f"Answer with a call of the tool '{named.chat_name}', and with no text."


def _mode(
    offers: list[Offer], mode: str | None, dialect: Dialect
) -> tuple[list[Offer], ChatChoice]:
    if mode == "required" and offers:
        return offers, _demanded(offers, dialect) if dialect.forces_calls else "auto"
    if mode is None or "tool_choice" in dialect.accepts:
        return offers, mode
    return ([] if mode == "none" else offers), None


def _demanded(offers: list[Offer], dialect: Dialect) -> ChatChoice:
    """Return the choice that requires a call of any of these tools."""
    if "tool_choice" in dialect.accepts and dialect.tool_choice != "functions":
        return "required"
    if "tool_choice" in dialect.accepts and len(offers) == 1:
        return _reference(offers[0])
    raise ClientError(
        "Unsupported value: 'required' is not supported with this model.",
        code="unsupported_value",
        param="tool_choice",
    )


def _named(offers: list[Offer], choice: Choice, dialect: Dialect) -> tuple[list[Offer], ChatChoice]:
    only = chosen(offers, choice)[:1]
    if not dialect.forces_calls:
        return _mode(offers, "required", dialect)
    if dialect.tool_choice == "strings" or "tool_choice" not in dialect.accepts:
        return _mode(only, "required", dialect)
    return offers, _reference(only[0])


def _allowed(
    toolbox: Toolbox, choice: AllowedTools, dialect: Dialect
) -> tuple[list[Offer], ChatChoice]:
    offers = toolbox.offered
    names = _names(toolbox, choice)
    allowed = [offer for offer in offers if offer.chat_name in names]
    can_list = (
        dialect.tool_choice == "full" and "tool_choice" in dialect.accepts and dialect.forces_calls
    )
    if not allowed or not can_list:
        return _mode(allowed, choice.mode, dialect)
    listed = [_reference(offer) for offer in allowed]
    return offers, {
        "type": "allowed_tools",
        "allowed_tools": {"mode": choice.mode, "tools": listed},
    }


def _names(toolbox: Toolbox, choice: AllowedTools) -> frozenset[str]:
    provided = [*toolbox.offers.values(), *toolbox.absent]
    return frozenset(
        offer.chat_name
        for each in choice.tools
        for offer in _permitted(provided, each, choice.mode)
    )


def _permitted(provided: list[Offer], each: Choice, mode: str) -> list[Offer]:
    """Return the callable tools; tools that only a server runs can be missing, unless one of them
    is required.
    """
    is_needless = mode == "auto" and isinstance(each, HostedChoice)
    return _intended(provided, each) if is_needless else chosen(provided, each)


def _reference(offer: Offer) -> dict[str, Any]:
    return {"type": "function", "function": {"name": offer.chat_name}}


def chosen(offers: Iterable[Offer], choice: Choice) -> list[Offer]:
    """Return the tools that a choice means, those without a namespace first. Raises `ClientError`
    if there are no such tools.
    """
    found = _intended(offers, choice)
    if not found and isinstance(choice, McpChoice):
        raise _no_such_tool(choice)
    if not found and isinstance(choice, HostedChoice):
        raise unsupported(str(choice.__struct_config__.tag))
    if not found:
        name = getattr(choice, "name", choice.__struct_config__.tag)
        raise ClientError(
            f"Tool choice '{name}' not found in 'tools' parameter.", param="tool_choice"
        )
    return sorted(found, key=lambda offer: bool(offer.namespace))


def _no_such_tool(choice: McpChoice) -> ClientError:
    name = f"a tool '{choice.name}' of " if choice.name else "tools of "
    return ClientError(
        f"Tool choice 'mcp' demands {name}the MCP server '{choice.server_label}', which the model "
        "is not offered: "
        "no such server is among the tools, it could not be listed, or 'allowed_tools' leaves "
        "nothing of it.",
        code="unsupported_value",
        param="tool_choice",
    )


def _intended(offers: Iterable[Offer], choice: Choice) -> list[Offer]:
    means = _INTENDED.get(type(choice))
    return [offer for offer in offers if means(offer, choice)] if means else []


def _of_server(offer: Offer, choice: McpChoice) -> bool:
    is_its_own = (offer.kind, offer.namespace) == ("mcp", choice.server_label)
    return is_its_own and choice.name in (None, UNSET, "", offer.name)


def _of_kind(*kinds: Kind) -> Callable[[Offer, Any], bool]:
    return lambda offer, choice: offer.kind in kinds


_INTENDED: dict[type, Callable[[Offer, Any], bool]] = {
    FunctionChoice: lambda offer, choice: (offer.kind, offer.name) == ("function", choice.name),
    CustomChoice: lambda offer, choice: (offer.kind, offer.name) == ("custom", choice.name),
    NamespaceChoice: lambda offer, choice: offer.namespace == choice.name,
    ToolSearchChoice: _of_kind("tool_search"),
    LocalShellChoice: _of_kind("local_shell"),
    ShellChoice: _of_kind("shell"),
    ApplyPatchChoice: _of_kind("apply_patch"),
    ComputerChoice: _of_kind(*_COMPUTERS),
    ComputerUseChoice: _of_kind(*_COMPUTERS),
    ComputerUsePreviewChoice: _of_kind(*_COMPUTERS),
    McpChoice: _of_server,
    HostedChoice: _of_kind("web_search"),
    DatedWebSearchChoice: _of_kind("web_search"),
    WebSearchPreviewChoice: _of_kind("web_search"),
    DatedWebSearchPreviewChoice: _of_kind("web_search"),
    FileSearchChoice: _of_kind("file_search"),
    CodeInterpreterChoice: _of_kind("code_interpreter"),
    ImageGenerationChoice: _of_kind("image_generation"),
}
