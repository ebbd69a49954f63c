"""Dockerfile, compose file and workflows agree with the settings, the package and each other."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from vista_guard import Settings, __version__
from vista_guard.dashboard.settings import DashboardSettings
from vista_guard.errors import ConfigError
from vista_guard.proxy.settings import ProxySettings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
SECTIONS: dict[str, type[BaseModel]] = {"PROXY": ProxySettings, "DASHBOARD": DashboardSettings}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in (ROOT / ".github/workflows").glob("*.yml")}


def is_setting(name: str) -> bool:
    """True if an environment variable `VISTA_GUARD_…` sets something."""
    first, *rest = name.removeprefix("VISTA_GUARD_").lower().split("__")
    model: Any = SECTIONS[first.upper()] if first.upper() in SECTIONS and rest else Settings
    for part in rest if model is not Settings else [first, *rest]:
        field = model.model_fields.get(part)
        if field is None:
            return False
        model = field.annotation
    return True


def named(path: Path) -> set[str]:
    return set(re.findall(r"VISTA_GUARD_[A-Z_]+[A-Z]", path.read_text("utf-8")))


@pytest.mark.parametrize(
    "path", [path for path in sorted(DEPLOY.rglob("*")) if path.is_file()], ids=lambda path: path.name
)
def test_each_environment_variable_is_a_setting(path: Path) -> None:
    assert [name for name in sorted(named(path)) if not is_setting(name)] == []


def test_what_is_no_setting_is_found() -> None:
    names = ["VISTA_GUARD_POLICY", "VISTA_GUARD_LIMITS__CLAIMS", "VISTA_GUARD_PROXY__PORT", "VISTA_GUARD_PROXY__PROT"]
    assert [is_setting(name) for name in names] == [True, True, True, False]
    assert len(named(DEPLOY / "compose.yaml")) > 6


def substituted(text: str) -> str:
    """A value of the compose file as an operator's environment makes it."""
    given = {
        "POSTGRES_PASSWORD": "secret",
        "UPSTREAM": "https://api.example.com/v1",
        "GUARD_KEYS": json.dumps({"acme": [f"sha256:{'0' * 64}"]}),
        "DASHBOARD_SIGN_IN": json.dumps(
            {
                "client_id": "guard",
                "client_secret": "s",
                "server_metadata_url": "https://accounts.example.com/.well-known/openid-configuration",
                "redirect_uri": "http://localhost:8501/oauth2callback",
                "cookie_secret": "x" * 32,
            }
        ),
        "DASHBOARD_PEOPLE": json.dumps({"you@example.com": {"tenants": ["*"]}}),
    }
    return re.sub(r"\$\{(\w+):[?-][^}]*\}", lambda found: given[found[1]], text)


def in_environment(monkeypatch: pytest.MonkeyPatch, folder: Path, service: str) -> None:
    monkeypatch.chdir(folder)
    for name, value in COMPOSE["services"][service]["environment"].items():
        monkeypatch.setenv(name, substituted(value))


def test_the_guards_of_the_compose_file_share_their_stores(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    in_environment(monkeypatch, tmp_path, "guard")
    settings, proxy = Settings.load(), ProxySettings.load()
    assert (settings.chroma_url, settings.reports) == (
        "http://chroma:8000",
        "postgresql+psycopg://guard:secret@postgres/guard",
    )
    assert (proxy.host, list(proxy.keys), proxy.trusted_proxies) == ("0.0.0.0", ["acme"], ("172.16.0.0/12",))
    assert COMPOSE["services"]["guard"]["stop_grace_period"] == f"{proxy.shutdown_timeout_s + 30}s"


def test_the_dashboard_of_the_compose_file_is_closed_without_sign_in(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    in_environment(monkeypatch, tmp_path, "dashboard")
    DashboardSettings.load(host="0.0.0.0").check_exposure()
    monkeypatch.setenv("VISTA_GUARD_DASHBOARD__SIGN_IN", "")  # as where DASHBOARD_SIGN_IN is not set
    monkeypatch.setenv("VISTA_GUARD_DASHBOARD__PEOPLE", "")
    with pytest.raises(ConfigError):
        DashboardSettings.load(host="0.0.0.0").check_exposure()


def test_the_compose_file_hangs_together() -> None:
    services = COMPOSE["services"]
    assert {"guard", "dashboard", "entrance", "chroma", "postgres", "collector"} == set(services)
    for name, service in services.items():
        assert set(service.get("depends_on", {})) <= set(services), name
        assert {mount.partition(":")[0] for mount in service.get("volumes", ())} <= set(COMPOSE["volumes"]), name
        assert {config["source"] for config in service.get("configs", ())} <= set(COMPOSE["configs"]), name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), name
    collector = yaml.safe_load(COMPOSE["configs"]["collector"]["content"])
    for pipeline in collector["service"]["pipelines"].values():
        for kind in ("receivers", "processors", "exporters"):
            assert set(pipeline[kind]) <= set(collector[kind])


def test_the_dockerfile_builds_what_is_there() -> None:
    text = (DEPLOY / "Dockerfile").read_text("utf-8")
    stages = re.findall(r"^FROM \S+ AS (\S+)$", text, re.MULTILINE)
    assert {stage["build"]["target"] for stage in COMPOSE["services"].values() if "build" in stage} <= set(stages)
    assert stages[-1] == "proxy"  # what is built when no target is named
    assert set(re.findall(r"--from=(\S+)", text)) <= set(stages)
    for name in re.findall(r"requirements/(\S+)", text):
        assert (ROOT / "requirements" / name).exists(), name
    installs = [line for line in text.splitlines() if re.search(r"\bpip\b.* install ", line)]
    assert [line for line in installs if not re.search(r"--require-hashes|/wheels/", line)] == []
    assert "USER 10001" in text.partition("AS dashboard")[0]
    assert text.count("HEALTHCHECK") == text.count("\nCMD ") == 2


def test_the_image_has_what_the_wheels_are_built_from() -> None:
    kept = (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8").split()
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert kept[0] == "*"
    needed = {*wheel["packages"], "pyproject.toml", "README.md", "weights", "reader", "requirements"}
    assert {f"!{name}" for name in needed} <= set(kept[1:])
    assert all((ROOT / name.removeprefix("!")).exists() for name in kept[1:])


def test_the_chart_is_of_this_version() -> None:
    chart = yaml.safe_load((DEPLOY / "chart/Chart.yaml").read_text("utf-8"))
    assert chart["appVersion"] == chart["version"] == __version__


def steps(workflow: str) -> list[dict[str, Any]]:
    return [step for job in WORKFLOWS[workflow]["jobs"].values() for step in job.get("steps", ())]


def test_ci_tries_every_version_that_is_declared() -> None:
    declared = {name.rpartition(" ")[2] for name in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", name)}
    matrix = WORKFLOWS["ci"]["jobs"]["test"]["strategy"]["matrix"]
    assert set(matrix["python"]) == declared == {"3.11", "3.12", "3.13", "3.14"}
    assert {entry["os"].partition("-")[0] for entry in matrix["include"]} == {"macos", "windows"}


@pytest.mark.parametrize("workflow", sorted(WORKFLOWS))
def test_a_workflow_may_do_only_what_it_says(workflow: str) -> None:
    assert WORKFLOWS[workflow]["permissions"] == {}
    for step in steps(workflow):
        if "uses" in step:
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step["uses"]), step
        for target in re.findall(r"\bmake ([\w-]+)", step.get("run", "")):
            assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE), target


def test_a_release_is_tested_before_anything_is_published() -> None:
    jobs = WORKFLOWS["release"]["jobs"]
    assert jobs["test"]["uses"] == "./.github/workflows/ci.yml"
    assert "workflow_call" in WORKFLOWS["ci"][True]  # `on` is true in YAML 1.1
    for publish in ("publish", "publish-weights"):
        assert {"test", "build"} <= set(jobs[publish]["needs"])
    assert jobs["images"]["needs"] == "publish"


def test_images_are_of_the_tag_and_signed_by_digest() -> None:
    images = WORKFLOWS["release"]["jobs"]["images"]
    assert images["strategy"]["matrix"]["part"] == ["proxy", "dashboard"]
    signed = next(step for step in images["steps"] if "cosign sign" in step.get("run", ""))
    assert signed["env"]["IMAGE"].endswith("@${{ steps.push.outputs.digest }}")
    (push,) = [step["with"] for step in images["steps"] if step.get("id") == "push"]
    assert (push["file"], push["target"], push["sbom"]) == ("deploy/Dockerfile", "${{ matrix.part }}", True)


def test_every_file_names_this_version() -> None:
    for service, part in (("guard", "proxy"), ("dashboard", "dashboard")):
        assert COMPOSE["services"][service]["image"] == f"ghcr.io/vista-guard/vista-guard-{part}:{__version__}"
    values = yaml.safe_load((DEPLOY / "chart/values.yaml").read_text("utf-8"))
    assert (values["image"]["repository"], values["dashboard"]["image"]["repository"]) == (
        "ghcr.io/vista-guard/vista-guard-proxy",
        "ghcr.io/vista-guard/vista-guard-dashboard",
    )
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["version"] == __version__
    assert json.loads((ROOT / "clients/typescript/package.json").read_text("utf-8"))["version"] == __version__
    assert re.search(
        rf"^## \[{re.escape(__version__)}\] - \d{{4}}", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )


def test_a_release_needs_no_token_and_is_attested() -> None:
    jobs = WORKFLOWS["release"]["jobs"]
    for publish in (jobs["publish"], jobs["publish-weights"], jobs["images"]):
        assert publish["permissions"]["id-token"] == publish["permissions"]["attestations"] == "write"
    assert "secrets." not in (ROOT / ".github/workflows/release.yml").read_text("utf-8")
    passwords = [step["with"]["password"] for step in steps("release") if step.get("with", {}).get("password")]
    assert passwords == ["${{ github.token }}"]  # GitHub's own, for its registry


def test_weights_are_released_before_the_code_that_needs_them_and_only_when_they_are_new() -> None:
    jobs = WORKFLOWS["release"]["jobs"]
    assert "publish-weights" in jobs["publish"]["needs"]
    assert jobs["publish-weights"]["if"] == "needs.build.outputs.new != '[]'"
    assert jobs["publish-weights"]["strategy"]["matrix"] == {"part": "${{ fromJSON(needs.build.outputs.new) }}"}
    assert jobs["build"]["outputs"]["new"] == "${{ steps.weights.outputs.new }}"
    (found,) = [step["run"] for step in steps("release") if step.get("id") == "weights"]
    assert "diff --recursive" in found  # what was published under this version is what the tag has
