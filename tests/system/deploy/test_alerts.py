"""`deploy/alerts.yaml`: rules that Prometheus accepts, about metrics that exist, each with a
runbook.
"""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.reference.test_metrics_page import FOUND, SUFFIXES, kinds, labels_of
from tests.support.programs import find, needs
from tests.support.server import RunningServer
from tests.system.deploy.proxies import DEPLOY

FILE = DEPLOY / "alerts.yaml"
ROOT = DEPLOY.parent
RULES: list[dict[str, Any]] = [
    rule for group in yaml.safe_load(FILE.read_text())["groups"] for rule in group["rules"]
]
PAGE = (ROOT / "docs/operate/runbook.md").read_text()
SECTIONS = re.findall(r"^## (\w+)$", PAGE, re.MULTILINE)
PROMTOOL = find("promtool") or ""
OF_PROMETHEUS = {"job", "instance", "worker", "le"}
"""Labels that Prometheus adds, that every sample has, and that histograms have."""

per_rule = pytest.mark.parametrize("rule", RULES, ids=[rule["alert"] for rule in RULES])

FIRING: dict[str, dict[str, str]] = {
    "AntiphonDown": {"up": "0x200"},
    "AntiphonNoBackend": {
        'antiphon_backend_up{backend="a"}': "0x200",
        'antiphon_backend_up{backend="b"}': "0x200",
    },
    "AntiphonBackendDown": {
        'antiphon_backend_up{backend="a"}': "0x200",
        'antiphon_backend_up{backend="b"}': "1x200",
    },
    "AntiphonServerErrors": {
        'antiphon_http_requests_total{status="500"}': "0+6x200",
        'antiphon_http_requests_total{status="200"}': "0+94x200",
    },
    "AntiphonResponsesFail": {
        'antiphon_responses_total{model="m", status="failed"}': "0+11x200",
        'antiphon_responses_total{model="m", status="completed"}': "0+89x200",
    },
    "AntiphonSlowFirstToken": {
        'antiphon_first_token_seconds_bucket{backend="a", le="30.0"}': "0+9x200",
        'antiphon_first_token_seconds_bucket{backend="a", le="60.0"}': "0+10x200",
        'antiphon_first_token_seconds_bucket{backend="a", le="+Inf"}': "0+10x200",
    },
    "AntiphonResourceFull": {'antiphon_shared_oldest_wait_seconds{resource="reads"}': "11x200"},
    "AntiphonEventLoopStalls": {
        'antiphon_loop_stall_seconds_bucket{le="0.25"}': "0+95x200",
        'antiphon_loop_stall_seconds_bucket{le="0.5"}': "0+100x200",
        'antiphon_loop_stall_seconds_bucket{le="+Inf"}': "0+100x200",
    },
    "AntiphonStoreErrors": {'antiphon_store_errors_total{operation="save"}': "0+1x200"},
    "AntiphonStoreSlow": {
        'antiphon_store_seconds_bucket{kind="write", le="0.5"}': "0+95x200",
        'antiphon_store_seconds_bucket{kind="write", le="1.0"}': "0+100x200",
        'antiphon_store_seconds_bucket{kind="write", le="+Inf"}': "0+100x200",
    },
    "AntiphonBackgroundBacklog": {"antiphon_background_waiting": "101x200"},
    "AntiphonBackgroundOverdue": {"antiphon_background_overdue": "1x200"},
    "AntiphonWebhooksWaiting": {"antiphon_webhooks_waiting": "101x200"},
    "AntiphonClockSkew": {"antiphon_clock_skew_seconds": "-31x200"},
    "AntiphonStoreOlder": {'antiphon_store_failovers_total{log="older"}': "0x185 1x200"},
    "AntiphonPurgeHeld": {"antiphon_purge_held": "5x200"},
    "AntiphonFilesNearlyUsed": {"process_open_fds": "81x200", "process_max_fds": "100x200"},
    "AntiphonRestarts": {"process_start_time_seconds": "0+60x200"},
    "AntiphonMixedVersions": {
        'antiphon_build_info{version="1"}': "1x200",
        'antiphon_build_info{version="2"}': "1x200",
    },
}
"""Series in which an alert must fire, by its name: samples a minute apart, for 200 minutes."""

WELL: dict[str, dict[str, str]] = {
    "AntiphonDown": {"up": "1x200"},
    "AntiphonNoBackend": {
        'antiphon_backend_up{backend="a"}': "0x200",
        'antiphon_backend_up{backend="b"}': "1x200",
    },
    "AntiphonServerErrors": {
        'antiphon_http_requests_total{status="503"}': "0+4x200",
        'antiphon_http_requests_total{status="200"}': "0+96x200",
    },
    "AntiphonStoreErrors": {'antiphon_store_errors_total{operation="save"}': "7x200"},
    "AntiphonBackgroundOverdue": {
        "antiphon_background_overdue": "0x185 1x15",
        "antiphon_background_deferred": "9x200",
    },
    "AntiphonClockSkew": {"antiphon_clock_skew_seconds": "29x200"},
    "AntiphonRestarts": {"process_start_time_seconds": "0x60 900x140"},
    "AntiphonMixedVersions": {'antiphon_build_info{version="1"}': "1x200"},
}
"""Series in which it must not."""


def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROMTOOL, *arguments], capture_output=True, text=True, check=False, timeout=60
    )


@needs(PROMTOOL, "prometheus")
def test_prometheus_accepts_the_rules() -> None:
    done = promtool("check", "rules", str(FILE))
    assert (done.returncode, f"{len(RULES)} rules found" in done.stdout) == (0, True), (
        done.stdout + done.stderr
    )


@needs(PROMTOOL, "prometheus")
def test_each_alert_fires_when_it_should_and_not_otherwise(tmp_path: Path) -> None:
    tests = [case(name, series, fires=True) for name, series in FIRING.items()]
    tests += [case(name, series, fires=False) for name, series in WELL.items()]
    file = tmp_path / "tests.yaml"
    whole = {"rule_files": [str(FILE)], "evaluation_interval": "1m", "tests": tests}
    file.write_text(json.dumps(whole))
    done = promtool("test", "rules", str(file))

    assert FIRING.keys() == {rule["alert"] for rule in RULES}
    assert done.returncode == 0, done.stdout + done.stderr


def case(name: str, series: dict[str, str], *, fires: bool) -> dict[str, Any]:
    inputs = [{"series": labelled(one), "values": values} for one, values in series.items()]
    test = {
        "expr": f'count(ALERTS{{alertname="{name}", alertstate="firing"}}) > 0',
        "eval_time": "190m",
    }
    expected = {**test, "exp_samples": [{"labels": "{}", "value": 1}] if fires else []}
    return {"interval": "1m", "input_series": inputs, "promql_expr_test": [expected]}


def labelled(series: str) -> str:
    """The series with the labels that a scrape adds."""
    name, _, labels = series.removesuffix("}").partition("{")
    return f'{name}{{{labels + ", " if labels else ""}job="antiphon", instance="i", worker="0"}}'


async def test_every_metric_of_a_rule_is_one_that_the_server_has(server: RunningServer) -> None:
    found = await kinds(server)
    series = {
        name.removesuffix("_total") + suffix
        for name, kind in found.items()
        for suffix in SUFFIXES[kind]
    }
    requested = {name for rule in RULES for name in FOUND.findall(rule["expr"])}

    assert requested
    assert requested - series == set()


@per_rule
def test_a_rule_groups_and_picks_by_labels_that_exist(rule: dict[str, Any]) -> None:
    named = {
        label.strip()
        for group in re.findall(r"by \(([^)]*)\)", rule["expr"])
        for label in group.split(",")
    }
    named |= set(re.findall(r"(\w+)=~?\"", rule["expr"]))
    displayed = set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]))

    assert named <= labels_of(rule["expr"]) | OF_PROMETHEUS
    assert displayed <= named | (OF_PROMETHEUS if "by (" not in rule["expr"] else set())


@per_rule
def test_an_alert_has_a_severity_a_summary_and_instructions(rule: dict[str, Any]) -> None:
    path, _, anchor = rule["annotations"]["runbook_url"].partition("#")
    name = rule["alert"]
    section = PAGE.partition(f"## {name}\n")[2].partition("\n## ")[0]

    assert rule["labels"]["severity"] in {"critical", "warning"}
    assert rule["annotations"]["summary"].endswith(".")
    assert ((ROOT / path).read_text(), anchor) == (PAGE, name.lower())
    assert name in SECTIONS
    assert "\n- " in section


def test_the_page_has_no_section_for_an_alert_that_does_not_exist() -> None:
    assert [rule["alert"] for rule in RULES] == SECTIONS
