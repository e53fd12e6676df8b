"""The page on fair sharing names every resource that a process shares, with its slots and its
setting.
"""

import math

from antiphon.build import build
from antiphon.config import Settings
from antiphon.server.application import create_app
from antiphon.sharing.scheduler import FairScheduler, SchedulerUsage
from tests.support.pages import table

ROWS = {
    name: (slots, alone, setting)
    for name, _, slots, alone, _, setting in table(
        "../why/fair-sharing",
        "Resource",
        "What holds a slot",
        "Slots",
        "One tenant alone",
        "May wait",
        "Setting",
    )
}


async def shared() -> dict[str, SchedulerUsage]:
    """The resources of a server by default, and with every tool."""
    settings = Settings(store="sqlite://", web_search="http://127.0.0.1:9", check_interval=0)
    application = await build(settings, {})
    create_app(application.gateway, application.endpoints)
    try:
        return dict(application.parts.shared.usage())
    finally:
        await application.close()


async def test_every_resource_has_its_row_with_the_slots_that_it_has() -> None:
    found = await shared()

    assert found.keys() <= ROWS.keys()
    for name, usage in found.items():
        if (slots := ROWS[name][0].replace(",", "")).isdecimal():
            assert usage.capacity == int(slots), name


def test_a_single_tenant_uses_the_documented_share() -> None:
    for name, (slots, alone, _) in ROWS.items():
        if slots.replace(",", "").isdecimal() and alone != "1":
            scheduler = FairScheduler(int(slots.replace(",", "")), leaves_room=True)
            retained = sum(scheduler.take("a") for _ in range(scheduler.capacity))
            assert retained == math.ceil(0.8 * scheduler.capacity) == int(alone.replace(",", "")), (
                name
            )


def test_every_setting_that_the_page_names_is_one() -> None:
    named = {
        one.strip("` ")
        for _, _, setting in ROWS.values()
        for one in setting.split(",")
        if one.strip()
    }
    assert named <= set(Settings.__struct_fields__)
