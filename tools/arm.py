"""The tests of kernels and maps on 64-bit ARM, emulated: python tools/arm.py [-- options of pytest]

Makes an aarch64 Python in build/arm from Debian's packages (with a package list of its own: the
system's stays as it is) and wheels from PyPI, compiles the kernels for it with Debian's cross
compiler, runs the tests below under qemu-user, and compares the golden hashes of
tools/same_bits.py. `make test-arm` calls it. Needs Linux with apt-get; as root it installs the
emulator and the compiler, too.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "build" / "arm"
SYSTEM = FOLDER / "system"  # what Debian's packages hold
PYTHON = FOLDER / "bin" / "python"
SITE = FOLDER / "site"  # nestmap, with its kernels
TARGET = "aarch64-linux-gnu"
COMPILER = f"{TARGET}-g++"
EMULATORS = ("qemu-aarch64-static", "qemu-aarch64")
TOOLS = ("qemu-user-static", f"g++-{TARGET}")  # Debian's names of the two above
PACKAGES = ("python3-minimal", "libpython3-dev", "python3-distutils", "libstdc++6")
# A processor without SVE, as most are: and qemu emulates long vectors slowly.
CPU = "cortex-a72"
GOLDEN = ROOT / "tests" / "golden_bits.json"  # of x86-64
WHEELS = ("numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", "matplotlib")
WHEELS += ("pytest>=9.2", "pytest-xdist>=3", "hypothesis>=6.100")
TESTS = tuple(
    f"tests/test_{name}.py"
    for name in (
        "kernels",
        "kernel_safety",
        "hierarchy",
        "exactness",
        "approximate",
        "communities",
        "layout",
        "arrangement",
        "mosaic",
        "islands",
        "new_points",
    )
)


def run(*command: object, environment: dict[str, str] | None = None, quiet: bool = False) -> None:
    """A program that has to succeed; what a quiet one said is printed only where it fails."""
    said = subprocess.PIPE if quiet else None
    done = subprocess.run(
        [*map(str, command)],
        cwd=ROOT,
        env=environment,
        stdout=said,
        stderr=subprocess.STDOUT if quiet else None,
        text=True,
        check=False,
    )
    if done.returncode:
        failed = shlex.join(map(str, command))
        raise SystemExit(f"{done.stdout or ''}\n{failed}\nfailed with exit {done.returncode}")


def emulator() -> str | None:
    """Where qemu is."""
    return next((path for name in EMULATORS if (path := shutil.which(name))), None)


def install_tools() -> None:
    """The emulator and the cross compiler; in words what to do where they cannot be had."""
    if emulator() and shutil.which(COMPILER):
        return
    install = f"apt-get install {' '.join(TOOLS)}"
    if not shutil.which("apt-get"):
        raise SystemExit(f"test-arm needs {EMULATORS[1]} and {COMPILER}, and apt-get: not found")
    if os.geteuid():
        raise SystemExit(f"test-arm needs {EMULATORS[1]} and {COMPILER}; as root: {install}")
    run("apt-get", "update", "-qq", quiet=True)
    run("apt-get", "install", "-y", "-qq", "--no-install-recommends", *TOOLS, quiet=True)


def fetch_system() -> None:
    """Python for ARM and what it needs, unpacked into SYSTEM: nothing is installed."""
    apt = FOLDER / "apt"
    for part in ("state/lists/partial", "cache/archives/partial"):
        (apt / part).mkdir(parents=True, exist_ok=True)
    (apt / "state" / "status").write_text("")
    settings = {
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "APT::Install-Recommends": "false",
        "Dir::State": apt / "state",
        "Dir::State::status": apt / "state" / "status",
        "Dir::Cache": apt / "cache",
    }
    options = [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]
    run("apt-get", *options, "update", "-qq", quiet=True)
    run("apt-get", *options, "install", "-y", "-qq", "--download-only", *PACKAGES, quiet=True)
    for name in ("bin", "lib"):  # as Debian has them: some packages name the one, some the other
        (SYSTEM / "usr" / name).mkdir(parents=True, exist_ok=True)
        (SYSTEM / name).symlink_to(f"usr/{name}")
    for package in sorted((apt / "cache" / "archives").glob("*.deb")):
        unpack = f"dpkg-deb --fsys-tarfile {shlex.quote(str(package))} | tar -x"
        run("sh", "-c", f"{unpack} --keep-directory-symlink -C {shlex.quote(str(SYSTEM))}")


def make_python() -> None:
    """A virtual environment whose Python is a script that starts the emulator."""
    PYTHON.parent.mkdir(exist_ok=True)
    start = [emulator(), "-cpu", CPU, "-L", SYSTEM, "-0", PYTHON, SYSTEM / "usr/bin/python3"]
    PYTHON.write_text(f'#!/bin/sh\nexec {shlex.join(map(str, start))} "$@"\n')
    PYTHON.chmod(0o755)
    (FOLDER / "pyvenv.cfg").write_text(f"home = {SYSTEM}/usr/bin\n")


def ask(code: str) -> str:
    """What the aarch64 Python prints."""
    return subprocess.check_output([PYTHON, "-c", code], text=True).strip()


def fetch_wheels() -> None:
    """Wheels of what nestmap and its tests need, and where nestmap itself will be."""
    version = ask("import sys; print('%d.%d' % sys.version_info[:2])")
    packages = FOLDER / "lib" / f"python{version}" / "site-packages"
    platforms = [f"manylinux_2_{minor}_aarch64" for minor in range(17, 36)]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", packages]
    command += ["--python-version", version, "--only-binary", ":all:", "--upgrade"]
    for platform in ("manylinux2014_aarch64", *platforms):
        command += ["--platform", platform]
    run(*command, *WHEELS)
    (packages / "nestmap.pth").write_text(f"{SITE}\n")


def make_environment() -> None:
    """All of the above, once: `ready` says that it is whole, and what it was made of."""
    ready = FOLDER / "ready"
    made_of = repr((PACKAGES, WHEELS, CPU))
    if ready.is_file() and ready.read_text() == made_of:
        return
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    print("making an aarch64 Python in build/arm", flush=True)
    fetch_system()
    make_python()
    fetch_wheels()
    ready.write_text(made_of)


def build() -> None:
    """Compiles the kernels, and copies the package beside them."""
    sysconfig = "import sysconfig as s; print(s.get_path('include')); "
    sysconfig += "print(s.get_config_var('EXT_SUFFIX'))"
    include, suffix = ask(sysconfig).split("\n")
    command = [sys.executable, "-m", "nanobind", "--cmake_dir"]
    nanobind = subprocess.check_output(command, text=True).strip()
    into = FOLDER / "cmake"
    options = {
        "CMAKE_SYSTEM_NAME": "Linux",
        "CMAKE_SYSTEM_PROCESSOR": "aarch64",
        "CMAKE_CXX_COMPILER": COMPILER,
        "Python_EXECUTABLE": PYTHON,
        "Python_INCLUDE_DIR": include,
        "nanobind_DIR": nanobind,
        "NB_SUFFIX": suffix,
    }
    given = [f"-D{name}={value}" for name, value in options.items()]
    own = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # cmake, ninja
    environment = {**os.environ, "PATH": own, "CPATH": f"{SYSTEM}/usr/include"}
    configure = ("cmake", "-G", "Ninja", "-S", ROOT, "-B", into, *given)
    run(*configure, environment=environment, quiet=True)
    run("ninja", "-C", into, environment=environment, quiet=True)
    shutil.rmtree(SITE, ignore_errors=True)
    shutil.copytree(ROOT / "src", SITE, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    for module in into.glob("_core_*.so"):
        shutil.copy(module, SITE / "nestmap" / "core" / "native")
    print(ask("import platform as p, nestmap.core.native as n; print(p.machine(), *n.builds())"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--prepare", action="store_true", help="only make Python and build")
    parser.add_argument("options", nargs="*", help="of pytest, after --; such as -n 2, or files")
    given = parser.parse_args()
    started = time.monotonic()
    install_tools()
    make_environment()
    build()
    print(f"ready after {time.monotonic() - started:.0f} s", flush=True)
    if given.prepare:
        return 0
    tests = [] if any(".py" in option for option in given.options) else TESTS
    options = ["-p", "no:cacheprovider", "-o", "faulthandler_timeout=3600"]  # emulated: slow
    command = [PYTHON, "-m", "pytest", *options, *given.options, *tests]
    failed = subprocess.run([*map(str, command)], cwd=ROOT, check=False).returncode
    if GOLDEN.is_file():
        run(PYTHON, "-m", "tools.same_bits", "check", GOLDEN)
    return failed


if __name__ == "__main__":
    sys.exit(main())
