"""`antiphon webhooks`: lists webhook deliveries that are pending or have failed, and retries
them.
"""

from datetime import UTC, datetime
from typing import Annotated

import typer

from antiphon.cli.flags import ConfigFlag, StoreFlag
from antiphon.cli.key_tables import copied_table, print_whole
from antiphon.cli.with_store import print_result, with_store
from antiphon.errors import ConfigError
from antiphon.storage.operations import webhooks
from antiphon.storage.records.tenants import Delivery
from antiphon.storage.store import Store

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.callback()
def about() -> None:
    """Inspect and retry webhook deliveries."""


@app.command()
def deliveries(store: StoreFlag = None, config: ConfigFlag = None) -> None:
    """List the deliveries that are pending or have failed.

    A failed attempt has its error. Successful deliveries are not stored.

    Examples:
      antiphon webhooks deliveries
    """

    async def act(opened: Store) -> None:
        found = await opened.read(webhooks.deliveries)
        if not found:
            print_result("All webhooks were delivered.")
            return
        others = ("endpoint", "event", "created", "attempts", "next", "error")
        print_whole(copied_table(("delivery",), others, map(_row, found)))

    with_store(store, config, act)


@app.command()
def retry(
    delivery_id: Annotated[
        str | None,
        typer.Argument(
            metavar="[DELIVERY_ID]",
            help="ID of the delivery, as in `antiphon webhooks deliveries`.",
        ),
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Retry all failed deliveries.")] = False,
    store: StoreFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Retry one delivery now, or all failed deliveries.

    A running server sends it within two seconds.

    Examples:
      antiphon webhooks retry --failed
    """
    if (delivery_id is None) is not failed:
        raise ConfigError("Name a delivery, or use `--failed` for all failed deliveries.")

    async def act(opened: Store) -> None:
        if delivery_id is None:
            print_result(f"Deliveries to retry: {await opened.write(webhooks.retry_failed)}.")
        elif await opened.write(webhooks.retry, delivery_id):
            print_result(f"Delivery {delivery_id} will be retried.")
        else:
            raise ConfigError(
                f"The delivery '{delivery_id}' does not exist. `antiphon webhooks deliveries` "
                "lists the deliveries."
            )

    with_store(store, config, act)


def _row(delivery: Delivery) -> tuple[str, ...]:
    state = "failed" if delivery.failed_at else _time(delivery.due_at)
    created = _time(delivery.created_at)
    return (
        delivery.id,
        delivery.endpoint.id,
        delivery.type,
        created,
        str(delivery.attempts),
        state,
        delivery.last_error,
    )


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
