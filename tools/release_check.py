"""What must hold before a release: python tools/release_check.py [--python PATH …] [--dist FOLDER]

Without --dist, builds what this machine can: the sdist, and from it a wheel with kernels for each
Python, and one as on a machine without a compiler. Checks their metadata, contents and sizes,
installs each into a clean environment where no compiler is found, and runs tests/smoke.py and
examples/demo.py there. `make release-check` calls it; .venv-release has what it needs.

With --dist, checks the files in a folder that are about to be published: the same, but for
installing, and that all platforms are there.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parent.parent
LIMIT = 1800.0  # seconds that any one program may take: a build on a slow machine takes minutes
MOST_BYTES = 4_000_000  # of a file to publish: 1.6 MB today, and a page that grows is seen
EXCLUDED = ("benchmarks/", "docs/", ".ci/", ".github/", "packaging/")
KERNELS = {"_core_baseline", "_core_avx2"}
NEWEST_GLIBC = (2, 28)
# What cibuildwheel makes, by pyproject.toml: four builds on each of eight platforms.
BUILDS = ("cp311-cp311", "cp312-abi3", "cp313-cp313t", "cp314-cp314t")
PLATFORMS = (
    "*manylinux_2_28_x86_64",
    "*manylinux_2_28_aarch64",
    "musllinux_1_2_x86_64",
    "musllinux_1_2_aarch64",
    "macosx_*_x86_64",
    "macosx_*_arm64",
    "win_amd64",
    "win_arm64",
)


def run(*command: object, folder: Path = ROOT, environment: dict[str, str] | None = None) -> str:
    """What a program prints; what it said, and the end, where it fails."""
    done = subprocess.run(
        [*map(str, command)],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=LIMIT,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}\nexit {done.returncode}")
    return done.stdout


def tracked(*folders: str) -> set[str]:
    """The files that git knows and that are there."""
    return {name for name in run("git", "ls-files", *folders).split("\n") if name}


def build_all(out: Path, pythons: list[str]) -> list[Path]:
    """The sdist, a wheel of it for each Python, and the one without a compiler."""
    run(sys.executable, "-m", "build", "--sdist", "--outdir", out)
    sdist = next(out.glob("*.tar.gz"))
    for python in pythons:
        make_wheel(python, sdist, out)
    without = {**os.environ, "CC": "/nonexistent/cc", "CXX": "/nonexistent/c++"}
    make_wheel(sys.executable, sdist, out, without)
    wheels = sorted(out.glob("*.whl"))
    if not any(wheel.name.endswith("-py3-none-any.whl") for wheel in wheels):
        raise SystemExit(f"without a compiler, none is for any platform: {wheels}")
    return [sdist, *wheels]


def make_wheel(
    python: str, sdist: Path, out: Path, environment: dict[str, str] | None = None
) -> None:
    """A wheel as pip makes it for a user who has none of his platform."""
    command = [python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", out, sdist]
    print("building a wheel for", python, "without a compiler" if environment else "", flush=True)
    run(*command, folder=out, environment=environment)


def faults_of_sdist(names: Iterable[str], wanted: set[str]) -> Iterator[str]:
    """What is missing in an sdist, or too much in it."""
    found = {name.partition("/")[2] for name in names} - {"PKG-INFO", ""}
    kept = {name for name in wanted if not name.startswith(EXCLUDED)}
    yield from (f"not in the sdist: {name}" for name in sorted(kept - found))
    yield from (f"in the sdist, but not in git: {name}" for name in sorted(found - wanted))
    yield from (f"in the sdist: {name}" for name in sorted(found & (wanted - kept)))


def faults_of_wheel(wheel: str, names: Iterable[str], wanted: set[str]) -> Iterator[str]:
    """What is missing in a wheel, or too much in it; kernels where they are not meant to be."""
    files = {name for name in names if ".dist-info/" not in name and not name.endswith("/")}
    files = {name for name in files if not fnmatch(name, "nestmap.libs/*")}  # of delvewheel
    compiled = {name for name in files if name.endswith((".so", ".pyd"))}
    package = {name.removeprefix("src/") for name in wanted}
    yield from (f"not in {wheel}: {name}" for name in sorted(package - files))
    yield from (f"too much in {wheel}: {name}" for name in sorted(files - package - compiled))
    kernels = sorted(Path(name).name.split(".")[0] for name in compiled)
    meant = set() if wheel.endswith("-none-any.whl") else {"_core_baseline"}
    if re.search("x86_64|amd64", wheel):
        meant = KERNELS
    if kernels != sorted(meant):  # one of another Python would be there twice
        yield f"{wheel} holds the modules {sorted(compiled)}, not {sorted(meant)}"


def faults_of_platform(wheel: Path) -> Iterator[str]:
    """A wheel for Linux that needs a newer system than promised."""
    if "linux" not in wheel.name:
        return
    said = run(sys.executable, "-m", "auditwheel", "show", wheel)
    found = re.search(r"(manylinux_(\d+)_(\d+)|musllinux_\d+_\d+)_\w+", said)
    print(f"{wheel.name}: auditwheel says {found.group() if found else 'nothing'}")
    if "-linux_" in wheel.name:
        print("  it is for this machine: those to publish are built by cibuildwheel")
    elif not found or (found[2] and (int(found[2]), int(found[3])) > NEWEST_GLIBC):
        yield f"{wheel.name} needs a newer system than manylinux_2_28"


def faults_of_files(files: list[Path]) -> Iterator[str]:
    """Contents and sizes of all."""
    for path in files:
        if path.stat().st_size > MOST_BYTES:
            yield f"{path.name} has {path.stat().st_size:,} bytes, more than {MOST_BYTES:,}"
        print(f"{path.name}: {path.stat().st_size:,} bytes")
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as archive:
                names = archive.namelist()
            yield from faults_of_wheel(path.name, names, tracked("src/nestmap"))
            yield from faults_of_platform(path)
        else:
            with tarfile.open(path) as sources:
                members = [each.name for each in sources.getmembers() if each.isfile()]
            yield from faults_of_sdist(members, tracked())


def faults_of_release(names: list[str], tag: str) -> Iterator[str]:
    """Platforms without a wheel, wheels that no index takes, versions that are not the tag's."""
    for build in BUILDS:
        for platform in PLATFORMS:
            if not any(fnmatch(name, f"nestmap-*-{build}-{platform}.whl") for name in names):
                yield f"no wheel for {build}-{platform}"
    wheels = [name for name in names if name.endswith(".whl")]
    if len(wheels) > len(BUILDS) * len(PLATFORMS):
        yield f"{len(wheels)} wheels, more than there are platforms"
    if sum(name.endswith(".tar.gz") for name in names) != 1:
        yield "there must be one sdist"
    versions = {name.removesuffix(".tar.gz").split("-")[1] for name in names}
    if len(versions) > 1:
        yield f"two versions: {sorted(versions)}"
    if tag and versions != {tag.removeprefix("v")}:
        yield f"the tag is {tag}, the version {sorted(versions)}"
    yield from (f"no index takes {name}" for name in wheels if "-linux_" in name)


def try_wheel(python: str, wheel: Path) -> None:
    """Install a wheel where nothing else is, and run the smoke test and the demo there."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(python, "-m", "venv", folder / "venv")
        own = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        keep = ("HOME", "TMPDIR", "SYSTEMROOT", "PIP_CONFIG_FILE", "SSL_CERT_FILE")
        environment = {name: os.environ[name] for name in keep if name in os.environ}
        environment["PATH"] = str(own)  # no compiler is found there
        install = [own / "python", "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
        run(*install, f"{wheel}[plot]", folder=folder, environment=environment)
        for file in (ROOT / "tests" / "smoke.py", ROOT / "examples" / "demo.py"):
            shutil.copy(file, folder)
        kernels = "--no-kernels" if wheel.name.endswith("-none-any.whl") else "--kernels"
        print(run(own / "python", "smoke.py", kernels, folder=folder, environment=environment))
        run(own / "python", "demo.py", "--out", "demo", folder=folder, environment=environment)
        for made in ("digits.png", "explorer/index.html"):
            if not (folder / "demo" / made).is_file():
                raise SystemExit(f"{wheel.name}: the demo made no {made}")
        print(f"{wheel.name}: installed, smoke test and demo run", flush=True)


def python_of(wheel: str, pythons: list[str]) -> str:
    """The Python among those given that a wheel was built for."""
    code = (
        "import sys, sysconfig; t = 't' if sysconfig.get_config_var('Py_GIL_DISABLED') else '';"
        "print(f'cp{sys.version_info[0]}{sys.version_info[1]}{t}')"
    )
    tag, abi = wheel.split("-")[2:4]
    wanted = tag if abi == "abi3" else abi
    return next((each for each in pythons if run(each, "-c", code).strip() == wanted), pythons[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", action="append", help="build for this one; may be repeated")
    parser.add_argument("--dist", type=Path, help="check the files to publish in this folder")
    parser.add_argument("--tag", default="", help="what --dist is published as, such as v0.1.0")
    given = parser.parse_args()
    pythons = given.python or [sys.executable]
    with tempfile.TemporaryDirectory() as name:
        files = sorted(given.dist.iterdir()) if given.dist else build_all(Path(name), pythons)
        faults = [*faults_of_files(files)]
        if given.dist:
            faults += faults_of_release([path.name for path in files], given.tag)
        print(run(sys.executable, "-m", "twine", "check", "--strict", *files))
        if faults:
            raise SystemExit("\n".join(faults))
        for wheel in [] if given.dist else files[1:]:
            try_wheel(python_of(wheel.name, pythons), wheel)
    print("ready")


if __name__ == "__main__":
    main()
