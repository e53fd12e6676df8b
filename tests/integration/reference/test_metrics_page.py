"""The page of metrics, the dashboard and the alert rules name the metrics of the server, with types
and labels.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from antiphon.status.upkeep import Upkeep
from antiphon.telemetry.agents import agent_metrics
from antiphon.telemetry.code import code_metrics
from antiphon.telemetry.kinds import Metric
from antiphon.telemetry.metrics import Measures, known
from antiphon.telemetry.process import process_metrics
from antiphon.telemetry.scrape import upkeep_metrics
from antiphon.telemetry.store_metrics import store_metrics
from tests.support.cases import each
from tests.support.pages import table
from tests.support.parts import scripted_parts
from tests.support.server import RunningServer

DASHBOARD = json.loads((Path(__file__).parents[3] / "deploy/grafana.json").read_text())
TABLE = table("metrics", "Metric", "Type", "Labels", "Meaning")
ROWS = {name: labels for name, _, labels, _ in TABLE}
RULES = yaml.safe_load((Path(__file__).parents[3] / "deploy/alerts.yaml").read_text())["groups"][0][
    "rules"
]
SUFFIXES = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_count", "_sum")}
FOUND = re.compile(r"(?:antiphon|process)_\w+")
REQUEST = re.compile(r"(?:antiphon|process)_\w+|^up\b")
GROUPED = re.compile(r"(?:sum|max|min|count) by \(([^)]*)\) ")
PICKED = re.compile(r"(\w+)=~?\"")
LEGEND = re.compile(r"{{(\w+)}}")
OF_PROMETHEUS = {"job", "le", "instance"}
OF_EVERY_SAMPLE = {"worker"}


def queries() -> Iterator[tuple[str, str]]:
    """Each query of the dashboard with its legend."""
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            yield target["expr"], target["legendFormat"]


async def kinds(server: RunningServer) -> dict[str, str]:
    """What the server says that it counts: kinds by name, those of counters with their suffix."""
    async with server.http.get(server.url.removesuffix("/v1") + "/metrics") as response:
        lines = (await response.text()).splitlines()
    return {
        name: kind
        for _, _, name, kind in (line.split() for line in lines if line.startswith("# TYPE"))
    }


def counted() -> list[Metric]:
    """Every metric of a process."""
    parts, _ = scripted_parts()
    read = known(parts.models, lambda: 0, dict)
    of_store = store_metrics(parts.store)
    of_agents = agent_metrics(None)
    code = code_metrics(lambda: None)
    return [
        *Measures().all(),
        *of_store,
        *read,
        *upkeep_metrics(Upkeep()),
        *of_agents,
        *code,
        *process_metrics(),
    ]


def labels_of(query: str) -> set[str]:
    """The labels that the metrics of a query have."""
    metrics = {one.name: set(one.names) for one in counted()}
    return {
        label
        for name in FOUND.findall(query)
        for key in metrics
        if name.startswith(key)
        for label in metrics[key]
    }


async def test_every_metric_has_its_row_and_every_row_its_metric(server: RunningServer) -> None:
    assert await kinds(server) == {name: kind for name, kind, *_ in TABLE}, (
        "correct docs/reference/metrics.md"
    )


def test_every_alert_has_its_row_with_its_metrics_and_every_row_its_alert() -> None:
    requested = {
        rule["alert"]: {name.removesuffix("_bucket") for name in REQUEST.findall(rule["expr"])}
        for rule in RULES
    }
    rows = {
        re.sub(r"\[(\w+)\].*", r"\1", alert): set(re.findall(r"`?(\w+)`?", metrics))
        for alert, metrics, _ in table("metrics", "Alert", "Metrics", "Condition")
    }
    assert rows == requested


def test_every_row_names_the_labels_that_its_metric_has() -> None:
    reported = {
        name.removesuffix("_total"): re.findall(r"`(\w+)`", f"`{labels}`")
        for name, labels in ROWS.items()
    }
    for metric in counted():
        assert reported[metric.name] == list(metric.names)


async def test_every_query_of_the_dashboard_names_a_metric_that_there_is(
    server: RunningServer,
) -> None:
    found = await kinds(server)
    series = {
        name.removesuffix("_total") + suffix
        for name, kind in found.items()
        for suffix in SUFFIXES[kind]
    }
    requested = {name for query, _ in queries() for name in FOUND.findall(query)}

    assert requested - series == set()
    hidden = {name for name in ROWS if not any(name in query for query, _ in queries())}
    assert hidden == set(), "add a panel to deploy/grafana.json"


@each(("query", "legend"), list(queries()))
def test_every_query_picks_and_groups_by_labels_that_there_are(query: str, legend: str) -> None:
    groups = {label.strip() for found in GROUPED.findall(query) for label in found.split(",")}

    assert groups | set(PICKED.findall(query)) <= labels_of(query) | OF_PROMETHEUS | OF_EVERY_SAMPLE
    assert set(LEGEND.findall(legend)) == groups - {"job", "le"}


def test_its_variables_query_existing_metrics() -> None:
    requested = {
        name
        for one in DASHBOARD["templating"]["list"]
        for name in FOUND.findall(json.dumps(one["query"]))
    }
    assert requested
    assert requested <= ROWS.keys()
