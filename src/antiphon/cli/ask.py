"""`antiphon ask`: one question, its answer streamed into the terminal, with the reasoning dimmed."""

import asyncio
from contextlib import aclosing
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from antiphon.application import Application, build
from antiphon.cli.flags import BackendFlag, ConfigFlag, StoreFlag
from antiphon.cli.settings import read_settings
from antiphon.config import Settings
from antiphon.errors import BackendError
from antiphon.gateway import Gateway
from antiphon.protocol import events
from antiphon.protocol.validation.validate import decode_request


def ask(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to ask.")],
    model: Annotated[str | None, typer.Option(help="Model to ask; by default the first there is.")] = None,
    previous: Annotated[str | None, typer.Option(metavar="ID", help="Response to go on from.")] = None,
    backend: BackendFlag = None,
    store: StoreFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Ask a model and stream its answer."""
    asyncio.run(_ask(read_settings(config, backend, store=store), text, model, previous))


async def _ask(settings: Settings, text: str, model: str | None, previous: str | None) -> None:
    house = await build(settings)
    try:
        await house.listing
        body = {"model": model or _first(house), "input": text, "previous_response_id": previous, "stream": True}
        run = await Gateway(house.engine).create(decode_request(msgspec.json.encode(body)))
        console = Console(soft_wrap=True, highlight=False, markup=False)
        async with aclosing(run.events()) as batches:
            async for batch in batches:
                for event in batch:
                    _show(console, event)
        console.print(f"\n[{run.response.id}]", style="dim")
    finally:
        await house.close()


def _first(house: Application) -> str:
    models = house.engine.models.list()
    if not models:
        raise BackendError("No model can be reached. Start one, or name a backend with --backend.", status=503)
    name: str = models[0]["id"]
    return name


def _show(console: Console, event: events.Event) -> None:
    match event:
        case events.OutputTextDelta(delta=delta) | events.RefusalDelta(delta=delta):
            console.print(delta, end="")
        case events.ReasoningTextDelta(delta=delta) | events.SummaryTextDelta(delta=delta):
            console.print(delta, end="", style="dim")
        case events.ReasoningTextDone() | events.SummaryTextDone():
            console.print()
        case events.OutputItemDone(item=item) if item.__struct_config__.tag == "function_call":
            console.print(f"{item.name}({item.arguments})", style="cyan")
        case events.ErrorEvent(message=message):
            raise BackendError(message)
