"""`antiphon ask`: sends one question to a model and streams the output to the terminal, with dimmed
reasoning.
"""

import asyncio
from contextlib import aclosing
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console

from antiphon.build import Application, build
from antiphon.cli.flags import BackendFlag, ConfigFlag, StoreFlag
from antiphon.cli.settings import read_settings
from antiphon.config import Settings
from antiphon.errors import AntiphonError, BackendError, ClientError
from antiphon.gateway import Gateway
from antiphon.protocol import events
from antiphon.protocol.items.messages import FunctionCall
from antiphon.protocol.validation.validate import decode_request
from antiphon.runs.run import Run
from antiphon.telemetry.observers import ObservedCall, Observer


def ask(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The question.")],
    model: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Model. Default: the first one that a backend lists."),
    ] = None,
    previous: Annotated[
        str | None, typer.Option(metavar="ID", help="ID of the response to continue.")
    ] = None,
    backend: BackendFlag = None,
    store: StoreFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Send a question to a model and stream the output.

    Reasoning is dimmed. The last line is the ID of the response, which `--previous` accepts. A
    server need not run.

    Examples:
      antiphon ask "What is a monad?"
      antiphon ask "Explain it to a child." --previous resp_0199
    """
    asyncio.run(_request(read_settings(config, backend, store=store), text, model, previous))


async def _request(settings: Settings, text: str, model: str | None, previous: str | None) -> None:
    application = await build(settings)
    failures = Failures()
    application.parts.run.observers.add(failures)
    try:
        await application.listing
        body = {
            "model": model or _first(application),
            "input": text,
            "previous_response_id": previous,
            "stream": True,
        }
        run = await _created(application.gateway, body)
        console = Console(soft_wrap=True, highlight=False, markup=False)
        async with aclosing(run.events()) as batches:
            async for batch in batches:
                for event in batch:
                    if isinstance(event, events.ResponseErrorEvent):
                        raise BackendError(event.message, detail=failures.explained(event.message))
                    _show(console, event)
        console.print(f"\n[{run.response.id}]", style="dim")
    finally:
        await application.close()


async def _created(gateway: Gateway, body: dict[str, Any]) -> Run:
    """Start the response. Raises `ClientError`; for an unknown model it names the command that
    lists the models.
    """
    try:
        return await gateway.create(decode_request(msgspec.json.encode(body)))
    except ClientError as error:
        if error.code != "model_not_found":
            raise
        text = f"{error.message} `antiphon models` lists the models."
        raise ClientError(text, status=error.status, param=error.param, code=error.code) from error


class Failures(Observer):
    """Keeps the error of a failed model call with its text for the operator: events have the text
    for clients.
    """

    def __init__(self) -> None:
        self._error: AntiphonError | None = None

    def answered(self, call: ObservedCall) -> None:
        """See `Observer.answered`."""
        self._error = call.error or self._error

    def explained(self, message: str) -> str:
        """Return the operator's text of the error with this message."""
        return (
            str(self._error)
            if self._error is not None and self._error.message == message
            else message
        )


def _first(application: Application) -> str:
    registry = application.parts.models
    models = registry.list()
    if not models:
        reasons = [one.error for one in registry.backends if one.error] or [
            "No backend lists a model."
        ]
        raise BackendError(f"No model is available. {' '.join(reasons)}", status=503)
    name: str = models[0]["id"]
    return name


def _show(console: Console, event: events.Event) -> None:
    match event:
        case (
            events.ResponseTextDeltaEvent(delta=delta)
            | events.ResponseRefusalDeltaEvent(delta=delta)
        ):
            console.print(delta, end="")
        case (
            events.ResponseReasoningTextDeltaEvent(delta=delta)
            | events.ResponseReasoningSummaryTextDeltaEvent(delta=delta)
        ):
            console.print(delta, end="", style="dim")
        case (
            events.ResponseReasoningTextDoneEvent() | events.ResponseReasoningSummaryTextDoneEvent()
        ):
            console.print()
        case events.ResponseOutputItemDoneEvent(item=FunctionCall(name=name, arguments=arguments)):
            console.print(f"{name}({arguments})", style="cyan")
