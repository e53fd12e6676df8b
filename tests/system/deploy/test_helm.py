"""The chart in `deploy/helm/antiphon`: rendered by Helm's own engine, and valid by the schemas of
Kubernetes.

What both contain is the same as in the manifests in `deploy/kubernetes`.

No cluster runs here: that a release is installed and upgraded is not tested.
"""

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from antiphon.config import load_settings
from antiphon.version import __version__
from tests.support.pip import install, run
from tests.system.deploy.proxies import DEPLOY
from tests.system.deploy.test_kubernetes import manifest

HERE = Path(__file__).parent
CHART = DEPLOY / "helm/antiphon"
Documents = dict[str, dict[str, Any]]

SQLITE: dict[str, Any] = {
    "store": "sqlite:///data/antiphon.db",
    "secret": "",
    "persistence": {"storageClass": "fast"},
}
POSTGRES: dict[str, Any] = {
    "store": "postgresql://antiphon@db.internal/antiphon",
    "image": {"tag": "1.2.3", "pullSecrets": ["registry"]},
    "backends": [
        {
            "url": "https://api.groq.com/openai/v1",
            "name": "groq",
            "key_env": "GROQ_API_KEY",
            "weight": 3,
        }
    ],
    "settings": {
        "allowed_hosts": ["ai.example.com"],
        "grace": 45,
        "max_bodies": 1073741824,
        "strict_tools": True,
    },
    "autoscaling": {"minReplicas": 3, "maxReplicas": 20, "targetCPU": 90},
    "ingress": {
        "enabled": True,
        "className": "nginx",
        "annotations": {"nginx.ingress.kubernetes.io/proxy-body-size": "32m"},
    },
    "nodeSelector": {"pool": "ai"},
    "tolerations": [{"key": "ai", "operator": "Exists"}],
    "shell": True,
}
EXTERNAL: dict[str, Any] = {
    "secret": "from-the-vault",
    "env": [
        {"name": "VLLM_API_KEY", "valueFrom": {"secretKeyRef": {"name": "vllm", "key": "token"}}}
    ],
    "autoscaling": {"enabled": False},
    "replicas": 4,
    "networkPolicy": {"enabled": False},
}
CASES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "SQLite": SQLITE,
    "PostgreSQL": POSTGRES,
    "secrets": EXTERNAL,
}


@cache
def python() -> Path:
    """The Python that has Helm's engine."""
    return install(HERE / "helm.txt", "helm") / "python"


def answer(values: dict[str, Any], release: str = "antiphon") -> dict[str, Any]:
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [python(), HERE / "render_chart.py", CHART],
        input=json.dumps({"values": values, "release": release}),
        capture_output=True, text=True, check=True, timeout=60, env=variables,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def rendered(values: dict[str, Any], release: str = "antiphon") -> Documents:
    """What Helm sends to the cluster, by kind."""
    found = answer(values, release)
    assert "error" not in found, found
    assert [one for one in found["findings"] if one["error"] != "icon is recommended"] == []
    texts = [text for name, text in found["files"].items() if name.endswith(".yaml")]
    documents = [one for text in texts for one in yaml.safe_load_all(text) if one]
    assert len({one["kind"] for one in documents}) == len(documents)
    return {one["kind"]: one for one in documents}


@cache
def default() -> Documents:
    return rendered({})


def pod(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = (
        document["spec"] if document["kind"] == "Pod" else document["spec"]["template"]["spec"]
    )
    return found


def settings(documents: Documents, folder: Path) -> Any:
    file = folder / "antiphon.toml"
    file.write_text(documents["ConfigMap"]["data"]["antiphon.toml"])
    return load_settings({}, {}, file)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("version", ["1.30", "1.37"])
def test_the_schemas_of_kubernetes_accept_every_document(
    name: str, version: str, tmp_path: Path
) -> None:
    tools = install(HERE / "tools.txt", "deploy")
    file = tmp_path / "rendered.yaml"
    file.write_text(yaml.safe_dump_all(rendered(CASES[name]).values()))
    done = run(tools, "kubernetes-validate", "--strict", "--kubernetes-version", version, str(file))

    assert done.returncode == 0, done.stdout + done.stderr


def test_values_choose_the_documents() -> None:
    common = {"ConfigMap", "Deployment", "PodDisruptionBudget", "Service"}
    shared = common | {"HorizontalPodAutoscaler", "Job", "NetworkPolicy"}

    assert set(default()) == shared
    assert set(rendered(SQLITE)) == common | {"NetworkPolicy", "PersistentVolumeClaim"}
    assert set(rendered(POSTGRES)) == shared | {"Ingress", "Pod"}
    assert set(rendered(EXTERNAL)) == common | {"Job"}
    assert "PersistentVolumeClaim" not in rendered(
        {**SQLITE, "persistence": {"existingClaim": "mine"}}
    )


def test_the_chart_has_the_version_of_the_package() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())

    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


@pytest.mark.parametrize("kind", ["Deployment", "Job"])
def test_pods_are_those_of_the_manifests(kind: str) -> None:
    ours = pod(default()[kind])
    theirs = pod(manifest(kind))
    (container,) = ours["containers"]
    (expected,) = theirs["containers"]

    # The migration runs before there are settings, and has no volume; a claim belongs to the group
    # of the user.
    differ = {"containers", "volumes", "securityContext", "topologySpreadConstraints"}
    assert {key: ours[key] for key in theirs.keys() - differ} == {
        key: theirs[key] for key in theirs.keys() - differ
    }
    assert theirs["securityContext"].items() <= ours["securityContext"].items()
    same = expected.keys() - {"image", "args", "volumeMounts"}
    assert {key: container[key] for key in same} == {key: expected[key] for key in same}
    assert container["args"] == (
        expected["args"] if kind == "Deployment" else ["antiphon", "migrate"]
    )


def test_the_other_documents_are_those_of_the_manifests() -> None:
    documents = default()
    deployment = documents["Deployment"]
    theirs = manifest("Deployment")
    annotations = deployment["spec"]["template"]["metadata"]["annotations"]

    assert deployment["spec"]["strategy"] == theirs["spec"]["strategy"]
    assert theirs["spec"]["template"]["metadata"]["annotations"].items() <= annotations.items()
    assert pod(deployment)["volumes"] == pod(theirs)["volumes"]
    assert (
        pod(deployment)["containers"][0]["volumeMounts"]
        == pod(theirs)["containers"][0]["volumeMounts"]
    )
    assert (
        documents["HorizontalPodAutoscaler"]["spec"] == manifest("HorizontalPodAutoscaler")["spec"]
    )
    for kind in ("NetworkPolicy", "PodDisruptionBudget", "Service"):
        selectors = {"selector", "podSelector"}
        ours = documents[kind]["spec"]
        expected = manifest(kind)["spec"]
        assert {key: ours[key] for key in ours.keys() - selectors} == {
            key: expected[key] for key in expected.keys() - selectors
        }


def test_the_settings_are_those_of_the_manifests(tmp_path: Path) -> None:
    assert settings(default(), tmp_path) == load_settings(
        {}, {}, DEPLOY / "kubernetes/antiphon.toml"
    )


def test_settings_and_backends_keep_their_types(tmp_path: Path) -> None:
    documents = rendered(POSTGRES)
    found = settings(documents, tmp_path)

    assert (found.store, found.allowed_hosts) == (POSTGRES["store"], ["ai.example.com"])
    assert (found.max_bodies, found.strict_tools, found.grace) == (2**30, True, 45)
    assert [(one.name, one.key_env, one.weight) for one in found.backends] == [
        ("groq", "GROQ_API_KEY", 3)
    ]
    assert pod(documents["Deployment"])["terminationGracePeriodSeconds"] == 75
    assert pod(documents["Job"])["containers"][0]["env"] == [
        {"name": "ANTIPHON_STORE", "value": POSTGRES["store"]}
    ]


@pytest.mark.parametrize("release", ["antiphon", "ours"])
def test_every_selector_finds_the_servers_of_its_release_and_nothing_else(release: str) -> None:
    found = rendered(POSTGRES, release)
    labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
    others = [
        found["Job"]["spec"]["template"]["metadata"]["labels"],
        found["Pod"]["metadata"]["labels"],
    ]
    selectors = [
        found["Deployment"]["spec"]["selector"]["matchLabels"],
        found["Service"]["spec"]["selector"],
        found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
        found["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"],
        pod(found["Deployment"])["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"],
    ]
    for selector in selectors:
        assert selector.items() <= labels.items()
        assert not any(selector.items() <= other.items() for other in others)
        assert selector["app.kubernetes.io/instance"] == release
    (rule,) = found["Ingress"]["spec"]["rules"]
    (path,) = rule["http"]["paths"]
    name = found["Service"]["metadata"]["name"]
    assert path["backend"]["service"] == {
        "name": name,
        "port": {"name": found["Service"]["spec"]["ports"][0]["name"]},
    }
    assert name == {"antiphon": "antiphon", "ours": "ours-antiphon"}[release]
    assert (
        found["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]["name"]
        == found["Deployment"]["metadata"]["name"]
    )


def test_sqlite_has_one_replica_with_a_volume_that_outlives_the_release() -> None:
    found = rendered(SQLITE)
    deployment = found["Deployment"]["spec"]
    claim = found["PersistentVolumeClaim"]

    assert (deployment["replicas"], deployment["strategy"]) == (1, {"type": "Recreate"})
    (data,) = [one for one in pod(found["Deployment"])["volumes"] if one["name"] == "data"]
    assert data["persistentVolumeClaim"] == {"claimName": claim["metadata"]["name"]}
    assert claim["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert claim["spec"]["storageClassName"] == "fast"


def test_keys_come_from_secrets_that_exist() -> None:
    found = rendered(EXTERNAL)

    assert found["Deployment"]["spec"]["replicas"] == 4
    for kind in ("Deployment", "Job"):
        (container,) = pod(found[kind])["containers"]
        assert container["envFrom"] == [{"secretRef": {"name": "from-the-vault"}}]
        assert EXTERNAL["env"][0] in container["env"]
    assert "envFrom" not in pod(rendered(SQLITE)["Deployment"])["containers"][0]


def test_other_settings_replace_the_pods() -> None:
    def annotation(values: dict[str, Any]) -> str:
        found: str = rendered(values)["Deployment"]["spec"]["template"]["metadata"]["annotations"][
            "antiphon/settings"
        ]
        return found

    assert annotation({"settings": {"grace": 31}}) != annotation({})


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"backend": []}, "backend"),
        ({"settings": {"port": 80}}, "port"),
        ({"store": "mysql://db/antiphon"}, "store"),
        ({"store": "postgresql://antiphon:secret@db/antiphon"}, "store"),
        ({"store": "sqlite:///var/lib/antiphon.db"}, "store"),
        ({"settings": {"grace": None, "models": [None]}}, "null"),
    ],
)
def test_values_that_cannot_work_are_rejected_by_name(values: dict[str, Any], named: str) -> None:
    assert named in answer(values)["error"]
