"""The manifests in `deploy/kubernetes/`: valid by the schemas of Kubernetes, and in agreement with
each other.

No cluster runs here: that pods become ready is not tested; what their commands, probes and settings
name is.
"""

import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from antiphon.cli.main import app
from antiphon.config import Settings, load_settings
from tests.support.pip import install, run
from tests.support.programs import find
from tests.system.deploy.proxies import DEPLOY

FOLDER = DEPLOY / "kubernetes"
SHELL: dict[str, Any] = yaml.safe_load((FOLDER / "shell.yaml").read_text())
KUSTOMIZATION: dict[str, Any] = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
SETTINGS = load_settings({}, {}, FOLDER / "antiphon.toml")
KINDS = (
    *("ConfigMap", "Deployment", "HorizontalPodAutoscaler", "Job", "NetworkPolicy"),
    *("PodDisruptionBudget", "Service"),
)


@cache
def built() -> str:
    """What `kubectl apply -k` would send."""
    program = find("kubectl")
    if program is None:
        pytest.skip("kubectl is not installed")
    done = subprocess.run(
        [program, "kustomize", str(FOLDER)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@cache
def manifest(kind: str) -> dict[str, Any]:
    files = [FOLDER / name for name in KUSTOMIZATION["resources"]]
    (found,) = [one for file in files if (one := yaml.safe_load(file.read_text()))["kind"] == kind]
    return found  # type: ignore[no-any-return]


def pods() -> list[dict[str, Any]]:
    """The specification of every pod."""
    return [
        *(manifest(kind)["spec"]["template"]["spec"] for kind in ("Deployment", "Job")),
        SHELL["spec"],
    ]


def server() -> dict[str, Any]:
    (container,) = manifest("Deployment")["spec"]["template"]["spec"]["containers"]
    return container  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def tools() -> Path:
    return install(Path(__file__).parent / "tools.txt", "deploy")


def test_the_schemas_of_kubernetes_accept_what_is_built(tools: Path, tmp_path: Path) -> None:
    file = tmp_path / "built.yaml"
    file.write_text(built() + "---\n" + (FOLDER / "shell.yaml").read_text())
    done = run(tools, "kubernetes-validate", "--strict", str(file))

    assert done.returncode == 0, done.stdout + done.stderr
    assert {one["kind"] for one in yaml.safe_load_all(built())} == set(KINDS)


@pytest.mark.parametrize("version", ["1.30", "1.37"])
def test_older_and_newer_clusters_accept_each_file(tools: Path, version: str) -> None:
    files = [str(FOLDER / name) for name in (*KUSTOMIZATION["resources"], "shell.yaml")]
    done = run(tools, "kubernetes-validate", "--strict", "--kubernetes-version", version, *files)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_misspelt_key_is_rejected(tools: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "deployment.yaml"
    wrong.write_text(
        (FOLDER / "deployment.yaml").read_text().replace("readinessProbe", "readynessProbe")
    )
    assert run(tools, "kubernetes-validate", "--strict", str(wrong)).returncode != 0


def test_every_selector_finds_the_servers_and_only_them() -> None:
    found = {one["kind"]: one for one in yaml.safe_load_all(built())}
    labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
    others = found["Job"]["spec"]["template"]["metadata"]["labels"]
    selectors = [
        found["Deployment"]["spec"]["selector"]["matchLabels"],
        found["Service"]["spec"]["selector"],
        found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
        found["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"],
        found["Deployment"]["spec"]["template"]["spec"]["topologySpreadConstraints"][0][
            "labelSelector"
        ]["matchLabels"],
    ]
    for selector in selectors:
        assert selector.items() <= labels.items()
        assert not selector.items() <= others.items()
    target = found["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
    assert (target["kind"], target["name"]) == (
        "Deployment",
        found["Deployment"]["metadata"]["name"],
    )


def test_the_settings_are_valid_and_the_ports_are_theirs() -> None:
    ports = {one["name"]: one["containerPort"] for one in server()["ports"]}

    assert SETTINGS.host == "0.0.0.0"
    assert SETTINGS.metrics_listen == f"0.0.0.0:{ports['metrics']}"
    assert ports["http"] == SETTINGS.port
    assert SETTINGS.store == SHELL["spec"]["containers"][0]["env"][0]["value"]
    assert manifest("Service")["spec"]["ports"][0]["targetPort"] == "http"
    annotations = manifest("Deployment")["spec"]["template"]["metadata"]["annotations"]
    assert annotations["prometheus.io/port"] == str(ports["metrics"])


def test_the_probes_use_the_listener_that_no_service_exposes() -> None:
    paths = {
        name: server()[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")
    }

    assert {name: probe["path"] for name, probe in paths.items()} == {
        "startup": "/healthz",
        "liveness": "/healthz",
        "readiness": "/readyz",
    }
    assert {probe["port"] for probe in paths.values()} == {"metrics"}
    assert [port["port"] for port in manifest("Service")["spec"]["ports"]] == [80]


def test_a_pod_has_time_to_stop() -> None:
    pause = int(server()["lifecycle"]["preStop"]["exec"]["command"][1])
    spec = manifest("Deployment")["spec"]["template"]["spec"]

    assert spec["terminationGracePeriodSeconds"] > pause + Settings().grace + 5


@pytest.mark.parametrize("number", range(3))
def test_no_pod_receives_the_variables_of_the_service(number: int) -> None:
    """One is ANTIPHON_PORT, which is a setting."""
    assert pods()[number]["enableServiceLinks"] is False


@pytest.mark.parametrize("number", range(3))
def test_no_pod_has_more_rights_than_it_needs(number: int) -> None:
    pod = pods()[number]
    (container,) = pod["containers"]
    context = container["securityContext"]

    assert (pod["automountServiceAccountToken"], pod["securityContext"]["runAsNonRoot"]) == (
        False,
        True,
    )
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert f"USER {pod['securityContext']['runAsUser']}\n" in (DEPLOY / "Containerfile").read_text()
    assert (context["allowPrivilegeEscalation"], context["readOnlyRootFilesystem"]) == (False, True)
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert container["envFrom"] == [{"secretRef": {"name": "antiphon"}}]


def test_the_containers_run_commands_that_exist() -> None:
    commands = typer.main.get_command(app).list_commands(None)  # type: ignore[attr-defined]
    for kind in ("Deployment", "Job"):
        (container,) = manifest(kind)["spec"]["template"]["spec"]["containers"]
        program, command, flag, path = container["args"]
        assert (program, flag, path) == ("antiphon", "--config", "/etc/antiphon/antiphon.toml")
        assert command in commands
        assert {"name": "settings", "mountPath": "/etc/antiphon", "readOnly": True} in container[
            "volumeMounts"
        ]


def test_the_memory_of_a_pod_holds_what_clients_may_use() -> None:
    limit = int(server()["resources"]["limits"]["memory"].removesuffix("Mi")) * 2**20
    assert limit >= 2 * SETTINGS.max_bodies
