"""The tests as on other machines: `python tests/elsewhere.py [name …] [-- arguments of pytest]`.

Each variation runs the tests in a process of its own and is told in one line: name, outcome,
seconds. What cannot be varied here is skipped, and said so. The exit code is 1 if a test failed.

    python tests/elsewhere.py --list
    python tests/elsewhere.py one-core random -- tests/test_layout.py

Names joined by + are varied together in one run of the tests; run one by one to see which of them
makes a test fail. Without names, every variation is run once, in as few runs as possible
(`TOGETHER`).
"""

from __future__ import annotations

import argparse
import locale
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider")
# Without compiled kernels: not what tests those, the approximate search or large data.
WITHOUT_KERNELS = tuple(
    f"tests/test_{name}.py"
    for name in (
        "edge_cases",
        "estimator",
        "hierarchy",
        "layout",
        "new_points",
        "preliminary",
        "package",
        "mosaic",
    )
)

# A CPU of another maker, a CPU of another decade, and what cannot be joined: numbers of cores, no
# kernels at all. Locales are joined to runs that have the tests of the explorer's page, which a
# browser shows in its own language.
TOGETHER = (
    "no-avx512+blas-haswell+not-root+random+bare",
    "no-avx2+blas-nehalem+baseline+no-cpuinfo",
    "one-core+no-home",
    "eight-threads+far-away",
    "no-kernels",
)


@dataclass(frozen=True)
class Variation:
    """What is different, and why it cannot be ('' if it can)."""

    about: str
    environment: dict[str, str] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    first_core_only: bool = False
    own_home: bool = False
    bare: bool = False
    missing: str = ""


def dispatched() -> list[str]:
    """CPU features that this NumPy chooses code by, and that this CPU has."""
    found = np.show_config(mode="dicts")["SIMD Extensions"].get("found", ())
    return [str(name) for name in found]


def without_features(names: list[str], about: str) -> Variation:
    """NumPy takes other code: its sorts leave equal values in another order."""
    missing = "" if names else "this NumPy has no such code for this CPU"
    return Variation(about, {"NPY_DISABLE_CPU_FEATURES": " ".join(names)}, missing=missing)


def another_blas(core: str) -> Variation:
    """OpenBLAS as on another CPU: other bits in products and eigenvectors."""
    from threadpoolctl import threadpool_info

    uses = any(library["internal_api"] == "openblas" for library in threadpool_info())
    missing = "" if uses else "NumPy does not use OpenBLAS here"
    return Variation(f"OpenBLAS for {core}", {"OPENBLAS_CORETYPE": core}, missing=missing)


def not_root() -> Variation:
    """Nobody; where the environment is below /root, nobody who may read all files, and write none
    of them.
    """
    about = "as a user who is not root"
    if os.geteuid() != 0:
        return Variation(about, missing="the tests are not run as root anyway")
    plain = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    if works(*plain):
        return Variation(about, {}, plain, own_home=True)
    # CMake asks with access(2) whether it may read, and gets no for an answer
    reading = (*plain, "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
    without = (
        "--deselect",
        "tests/test_package.py::test_wheel_without_a_compiler_works_and_says_so_once",
    )
    missing = "" if works(*reading) else "setpriv is not allowed here"
    return Variation(about, {}, reading, without, own_home=True, missing=missing)


def works(*prefix: str) -> bool:
    """Whether this interpreter can start itself and read the tests after a change of the user."""
    again = "subprocess.run([sys.executable, '-c', 'import numpy'], check=True)"
    code = f"import os, subprocess, sys; os.listdir({str(ROOT)!r}); {again}"
    try:
        command = [*prefix, sys.executable, "-c", code]
        return not subprocess.run(command, capture_output=True, check=False, timeout=240).returncode
    except FileNotFoundError:
        return False


def no_cpuinfo() -> Variation:
    """/proc/cpuinfo without flags, as on other kinds of CPUs and in some containers."""
    bind = 'echo "processor : 0" > "$0" && mount --bind "$0" /proc/cpuinfo && rm "$0" && exec "$@"'
    prefix = ("unshare", "--mount", "sh", "-c", bind, tempfile.mktemp(prefix="cpuinfo-"))
    missing = "" if works(*prefix) else "mounting is not allowed here"
    # Debian's chromium asks that file whether the CPU will do, and does not start
    return Variation(
        "/proc/cpuinfo tells nothing", {}, prefix, ("--ignore=tests/test_page.py",), missing=missing
    )


def no_home() -> Variation:
    """The plain locale, and a home that nobody can write to, as services have it; root could write
    to any folder.
    """
    about = "C locale, a home that cannot be written to"
    home = Path(tempfile.gettempdir()) / f"nestmap-no-home-{os.geteuid()}"
    home.mkdir(exist_ok=True)
    environment = {"LC_ALL": "C", "HOME": str(home)}
    if os.geteuid() != 0:
        home.chmod(0o555)
        return Variation(about, environment)
    prefix = (
        "unshare",
        "--mount",
        "sh",
        "-c",
        'mount -t tmpfs -o ro tmpfs "$0" && exec "$@"',
        str(home),
    )
    return Variation(
        about, environment, prefix, missing="" if works(*prefix) else "mounting is not allowed here"
    )


def far_away() -> Variation:
    """Clocks 12:45 hours ahead, and a country that writes 1.797,5 for 1,797.5."""
    has = ""
    try:
        locale.setlocale(locale.LC_TIME, "de_DE.UTF-8")
    except locale.Error:
        has = " by name only: it is not installed (`make locales`)"
    environment = dict.fromkeys(("LANG", "LC_ALL", "LANGUAGE"), "de_DE.UTF-8") | {
        "TZ": "Pacific/Chatham"
    }
    return Variation(f"time of the Chatham Islands, German locale{has}", environment)


def variations() -> dict[str, Callable[[], Variation]]:
    """By name; made when asked for, since some have to look whether they are possible."""
    wide = [name for name in dispatched() if name.startswith("AVX512") or name == "X86_V4"]
    # conftest.py counts cores by the last one: joblib takes LOKY_MAX_CPU_COUNT only as an upper
    # limit
    threads = dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TEST_CORES"), "8"
    )
    seed = int(time.time())
    random = (
        "-p",
        "randomly",
        f"--randomly-seed={seed}",
        "--hypothesis-profile=new",
        f"--hypothesis-seed={seed}",
    )
    off = {"NESTMAP_NATIVE": "off"}
    return {
        "no-avx512": lambda: without_features(wide, f"NumPy without {' '.join(wide) or 'AVX-512'}"),
        "no-avx2": lambda: without_features(
            dispatched(), f"NumPy without {' '.join(dispatched())}"
        ),
        "blas-haswell": lambda: another_blas("Haswell"),
        "blas-nehalem": lambda: another_blas("Nehalem"),
        "one-core": lambda: Variation("on one core", first_core_only=True),
        "eight-threads": lambda: Variation("8 threads by default", threads),
        "not-root": not_root,
        "no-cpuinfo": no_cpuinfo,
        "random": lambda: Variation(
            f"in random order, new examples (seed {seed})", arguments=random
        ),
        "baseline": lambda: Variation("kernels without AVX2", {"NESTMAP_NATIVE": "baseline"}),
        "no-kernels": lambda: Variation("without compiled kernels", off, files=WITHOUT_KERNELS),
        "bare": lambda: Variation("with HOME and PATH only", bare=True),
        "no-home": no_home,
        "far-away": far_away,
    }


def joined(name: str, known: dict[str, Callable[[], Variation]]) -> Variation:
    """All of a+b+c at once; those that cannot be varied here are left out, and said so."""
    parts = [known[part]() for part in name.split("+")]
    able = [part for part in parts if not part.missing]
    if len(parts) == 1 or not able:
        return parts[0]
    left_out = [f"without: {part.about} ({part.missing})" for part in parts if part.missing]
    return Variation(
        "; ".join([part.about for part in able] + left_out),
        {key: value for part in able for key, value in part.environment.items()},
        tuple(word for part in able for word in part.prefix),
        tuple(word for part in able for word in part.arguments),
        tuple(file for part in able for file in part.files),
        any(part.first_core_only for part in able),
        any(part.own_home for part in able),
        any(part.bare for part in able),
    )


def start_tests(
    variation: Variation, arguments: list[str], home: str
) -> subprocess.CompletedProcess[str]:
    """Run pytest as the variation wants it; `home` is a folder that anybody may write to."""
    kept = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
    environment = {**(kept if variation.bare else os.environ), **variation.environment}
    if variation.own_home:
        environment |= {
            "HOME": home,
            "HYPOTHESIS_STORAGE_DIRECTORY": home,
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def stay_on_first_core() -> None:
        if variation.first_core_only:
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    files = [] if any(Path(argument).exists() for argument in arguments) else variation.files
    return subprocess.run(
        [*variation.prefix, *PYTEST, *variation.arguments, *files, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        preexec_fn=stay_on_first_core,
        check=False,
    )


def run(name: str, variation: Variation, arguments: list[str]) -> bool:
    """Whether all tests passed (or could not be run)."""
    if variation.missing:
        print(f"{name:42} skipped: {variation.missing}", flush=True)
        return True
    start = time.monotonic()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        os.chmod(home, 0o777)
        done = start_tests(variation, arguments, home)
    lines = (done.stdout + done.stderr).splitlines()
    told = next(
        (
            line.strip("= ")
            for line in reversed(lines)
            if " in " in line and ("passed" in line or "failed" in line)
        ),
        "no tests ran",
    )
    outcome = "failed" if done.returncode else "passed"
    print(
        f"{name:42} {outcome} {time.monotonic() - start:6.0f} s  {variation.about}: {told}",
        flush=True,
    )
    if done.returncode:
        print("\n".join(f"    {line}" for line in lines[-60:]), flush=True)
    return done.returncode == 0


def main() -> int:
    known = variations()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="name",
        help=f"of {', '.join(known)}; a+b: together (default: all)",
    )
    parser.add_argument("--list", action="store_true", help="print the names and what is different")
    own, arguments = sys.argv[1:], []
    if "--" in own:
        own, arguments = own[: own.index("--")], own[own.index("--") + 1 :]
    options = parser.parse_args(own)
    if unknown := {part for name in options.names for part in name.split("+")} - set(known):
        parser.error(f"{', '.join(sorted(unknown))}: not one of {', '.join(known)}")
    if options.list:
        for name, make in known.items():
            variation = make()
            print(
                f"{name:14} {variation.about}{variation.missing and f' (skipped: {variation.missing})'}"
            )
        return 0
    return (
        0
        if all([run(name, joined(name, known), arguments) for name in options.names or TOGETHER])
        else 1
    )


if __name__ == "__main__":
    sys.exit(main())
