"""`antiphon containers`: lists and kills the containers of code, in the store of the settings."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.filesize import decimal

from antiphon.build.files import files_of
from antiphon.cli.flags import ConfigFlag, StoreFlag
from antiphon.cli.key_tables import copied_table, print_whole
from antiphon.cli.settings import read_settings
from antiphon.cli.with_store import print_result, with_store
from antiphon.console.containers import ContainerReader
from antiphon.errors import ConfigError
from antiphon.objects.containers import Containers
from antiphon.protocol.console import ListContainersQuery
from antiphon.storage.store import Store

AT_ONCE = 100
"""Containers that are read at a time."""

OthersFlag = Annotated[
    str | None, typer.Option("--tenant", metavar="NAME", help="Tenant. Default: all tenants.")
]

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.callback()
def about() -> None:
    """List and kill the containers of code.

    The commands work on the store of the settings. A server need not run.
    """


@app.command("list")
def list_containers(
    tenant: OthersFlag = None,
    every: Annotated[bool, typer.Option("--all", help="Also list expired containers.")] = False,
    store: StoreFlag = None,
    config: ConfigFlag = None,
) -> None:
    """List the running containers, newest first.

    Shows ID, tenant, name, status (`busy` during a call), calls, files, size, memory limit, the
    worker with the newest kernel, and the last use.

    Examples:
      antiphon containers list --all
    """

    async def act(store: Store) -> None:
        found = [
            one async for one in _containers(store, tenant) if every or one["status"] == "running"
        ]
        if not found:
            print_result(
                "There are no containers."
                if every
                else "No container is running. --all also lists expired ones."
            )
            return
        names = (
            "tenant",
            "name",
            "status",
            "calls",
            "files",
            "size",
            "memory",
            "worker",
            "last used",
        )
        print_whole(copied_table(("id",), names, map(_row, found)))

    with_store(store, config, act)


@app.command()
def kill(
    container_ids: Annotated[
        list[str],
        typer.Argument(
            metavar="CONTAINER_ID", help="IDs of the containers, as in `antiphon containers list`."
        ),
    ],
    tenant: OthersFlag = None,
    store: StoreFlag = None,
    config: ConfigFlag = None,
) -> None:
    """Delete containers with their files.

    Stops the calls that run in them. An idle kernel ends within 30 s.

    Examples:
      antiphon containers kill cntr_0199
    """
    settings = read_settings(config, store=store)

    async def act(store: Store) -> None:
        containers = Containers(store, files_of(store, settings))
        for container_id in container_ids:
            owner = await _owner(store, container_id, tenant)
            await containers.delete(owner, container_id)
            print_result(f"Killed {container_id}.")

    with_store(store, config, act)


async def _containers(store: Store, tenant: str | None) -> AsyncIterator[dict[str, Any]]:
    reader = ContainerReader(store)
    after = ""
    has_more = True
    while has_more:
        page = await reader.page(tenant, ListContainersQuery(limit=AT_ONCE, after=after))
        for one in page["data"]:
            yield one
        after = page["last_id"] or ""
        has_more = page["has_more"]


async def _owner(store: Store, container_id: str, tenant: str | None) -> str:
    """Return the tenant of a container. Raises `ConfigError` if the container does not exist."""
    async for one in _containers(store, tenant):
        if one["id"] == container_id:
            return one["tenant"] or ""
    raise ConfigError(
        f"The container '{container_id}' does not exist. `antiphon containers list --all` lists "
        "the containers."
    )


def _row(one: dict[str, Any]) -> Sequence[str]:
    used = datetime.fromtimestamp(one["last_active_at"], UTC).strftime("%Y-%m-%d %H:%M")
    status = "busy" if one["is_busy"] else one["status"]
    counts = str(one["calls"]), str(one["files"]), decimal(one["bytes"])
    return (
        one["id"],
        one["tenant"] or "",
        one["name"],
        status,
        *counts,
        one["memory_limit"],
        one["worker"],
        used,
    )
