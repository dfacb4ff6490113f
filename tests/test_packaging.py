"""What a release is made of: versions that agree, workflows that call what is there, and the check
before a release.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import LIMIT

import nestmap
from nestmap.core.native import builds
from tools import lint_workflows, release_check

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
WHEEL = "nestmap-0.1.0-cp312-abi3-manylinux_2_28_x86_64.whl"


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def steps() -> list[dict[str, Any]]:
    return [
        step for path in WORKFLOWS for job in read(path)["jobs"].values() for step in job["steps"]
    ]


def test_versions_agree() -> None:
    recipe = read(ROOT / "packaging" / "conda" / "recipe.yaml")
    cited = read(ROOT / "CITATION.cff")
    assert {
        nestmap.__version__,
        PROJECT["project"]["version"],
        cited["version"],
        recipe["context"]["version"],
    } == {nestmap.__version__}
    assert f"\n## {nestmap.__version__} " in (ROOT / "CHANGELOG.md").read_text()


def test_the_conda_recipe_asks_for_what_the_wheel_does() -> None:
    recipe = read(ROOT / "packaging" / "conda" / "recipe.yaml")

    def told(names: list[Any]) -> set[str]:
        return {name.replace(" ", "") for name in names if isinstance(name, str) and ">=" in name}

    wanted = recipe["requirements"]
    assert told(wanted["run"]) == {*PROJECT["project"]["dependencies"]}
    assert told(wanted["host"]) == {*PROJECT["build-system"]["requires"]}


def test_every_python_that_is_named_is_tested() -> None:
    named = {
        line.rpartition(" ")[2]
        for line in PROJECT["project"]["classifiers"]
        if re.search(r"Python :: 3\.\d+$", line)
    }
    assert named == {*re.findall(r'python: "(3\.\d+)"', (WORKFLOWS[0]).read_text())}
    assert (
        f">={min(named, key=lambda each: int(each[2:]))}" == PROJECT["project"]["requires-python"]
    )


def test_wheels_are_those_that_a_release_is_checked_for() -> None:
    tool = PROJECT["tool"]
    tags = [build.split("-") for build in release_check.BUILDS]
    wanted = [f"{tag if abi == 'abi3' else abi}-*" for tag, abi in tags]
    assert tool["cibuildwheel"]["build"] == wanted
    left_out = [each for each in tool["scikit-build"]["sdist"]["exclude"] if "*" not in each]
    assert left_out == [each.rstrip("/") for each in release_check.EXCLUDED]


def test_workflows_call_what_is_there() -> None:
    targets = {*re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)}
    called = " ".join(step.get("run", "") for step in steps())
    scripts = {*re.findall(r"\.ci/[\w-]+", called)}
    assert scripts == {f".ci/{path.name}" for path in (ROOT / ".ci").iterdir()}
    assert all(os.access(ROOT / script, os.X_OK) for script in scripts)
    made = re.findall(r"make ((?:[a-z-]+ ?)+)", called)
    asked = {name for names in made for name in names.split()}
    matrix = {*re.findall(r"target: ([\w-]+)", WORKFLOWS[0].read_text())}
    assert {"release-check", "sdist"} <= asked | matrix <= targets


def test_workflows_may_do_little() -> None:
    for path in WORKFLOWS:
        workflow = read(path)
        assert workflow["permissions"] == {"contents": "read"}
        for name, job in workflow["jobs"].items():
            allowed = job.get("permissions", {"contents": "read"})
            assert allowed == {
                "contents": "read",
                **({"id-token": "write"} if name == "publish" else {}),
            }
            assert job["timeout-minutes"] <= 120
            assert name != "publish" or "ref_type == 'tag'" in job["if"]
    used = [step["uses"] for step in steps() if "uses" in step]
    assert used and all(re.search(r"@v\d", each) for each in used), used
    assert lint_workflows.known_labels() <= {*re.findall(r"[\w.-]+", WORKFLOWS[1].read_text())}


def wheel_names(**changed: str) -> set[str]:
    """The files of a wheel for x86-64, as pyproject.toml asks for it."""
    modules = {f"nestmap/core/native/{name}.abi3.so" for name in release_check.KERNELS}
    return {"nestmap/__init__.py", "nestmap-0.1.0.dist-info/METADATA", *modules, *changed.values()}


def test_contents_of_wheels() -> None:
    package = {"src/nestmap/__init__.py"}
    check = release_check.faults_of_wheel
    assert not [*check(WHEEL, wheel_names(), package)]
    bare = {"nestmap/__init__.py"}
    assert not [*check("nestmap-0.1.0-py3-none-any.whl", bare, package)]
    assert not [
        *check(WHEEL.replace("x86_64", "aarch64"), bare | {"nestmap/_core_baseline.so"}, package)
    ]
    for names, wanted, said in (
        (wheel_names(), {*package, "src/nestmap/py.typed"}, "not in"),
        (wheel_names(new="nestmap/notes.txt"), package, "too much"),
        (wheel_names(new="nestmap/_core_avx2.cpython-311.so"), package, "holds the modules"),
        (bare, package, "holds the modules"),
    ):
        assert [fault for fault in check(WHEEL, names, wanted) if said in fault], said
    assert [*check("nestmap-0.1.0-py3-none-any.whl", wheel_names(), package)]


def test_contents_of_sdists() -> None:
    wanted = {"src/nestmap/__init__.py", "docs/index.md", "README.md"}
    found = ["n-1/PKG-INFO", "n-1/src/nestmap/__init__.py", "n-1/README.md"]
    assert not [*release_check.faults_of_sdist(found, wanted)]
    assert [*release_check.faults_of_sdist(found[:2], wanted)] == ["not in the sdist: README.md"]
    more = ["n-1/docs/index.md", "n-1/secret.key"]
    assert [*release_check.faults_of_sdist(found + more, wanted)] == [
        "in the sdist, but not in git: secret.key",
        "in the sdist: docs/index.md",
    ]


def test_a_release_has_all_platforms() -> None:
    platforms = [each.replace("*", "1_") for each in release_check.PLATFORMS]
    platforms = [
        each.replace("1_manylinux", "manylinux_2_27_x86_64.manylinux") for each in platforms
    ]
    names = [
        f"nestmap-0.1.0-{build}-{at}.whl" for build in release_check.BUILDS for at in platforms
    ]
    names.append("nestmap-0.1.0.tar.gz")
    check = release_check.faults_of_release
    assert not [*check(names, "v0.1.0")] and not [*check(names, "")]
    assert [*check(names[1:], "")] and [*check(names[:-1], "")] and [*check(names, "v0.1.1")]
    assert [*check([*names, "nestmap-0.1.0-cp311-cp311-linux_x86_64.whl"], "")]
    assert [*check([*names, "nestmap-0.2.0.tar.gz"], "")]


@pytest.mark.slow
def test_smoke(tmp_path: Path) -> None:
    """What is run on every wheel, here: it finds the kernels, and says where they are not wanted."""
    for option, code in (("--kernels", 0), ("--no-kernels", 1)):
        done = subprocess.run(
            [sys.executable, str(ROOT / "tests" / "smoke.py"), option],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT,
        )
        assert done.returncode == code, done.stderr
        assert builds()[0] in done.stdout + done.stderr
