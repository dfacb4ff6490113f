"""Kernel tests under sanitizers: python tools/sanitize.py [address] [thread]

Builds the compiled modules with AddressSanitizer and UndefinedBehaviorSanitizer ("address"), or
with ThreadSanitizer ("thread"), beside a copy of the package in build/sanitize-…, and runs the
tests of the kernels on them. Needs GCC (or Clang with its runtime libraries) and what `make` has
installed.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
TESTS = {
    "address": [
        "tests/test_kernels.py",
        "tests/test_kernel_safety.py",
        "tests/test_neighbors.py",
        "tests/test_exactness.py",
        "tests/test_approximate.py",
        "tests/test_mosaic.py",
        "tests/test_arrangement.py",
        "tests/test_edge_cases.py",
        "tests/test_graph.py",
        "tests/test_islands.py",
        "tests/test_communities.py",
    ],
    "thread": ["tests/test_threads.py"],
}
LIBRARIES = {"address": "libasan.so", "thread": "libtsan.so"}
OPTIONS = {
    # CPython and NumPy keep memory until the end; that is no leak of ours
    "address": {
        "ASAN_OPTIONS": "detect_leaks=0",
        "UBSAN_OPTIONS": "print_stacktrace=1,halt_on_error=1",
    },
    # what Python, NumPy and OpenBLAS do among themselves is theirs
    "thread": {"TSAN_OPTIONS": "halt_on_error=1,ignore_noninstrumented_modules=1"},
}
# The editable install puts a finder first that would import the modules without sanitizers.
SITE = (
    "import sys\n"
    "sys.meta_path = [f for f in sys.meta_path if 'editable' not in type(f).__module__]\n"
)


def build(kind: str) -> Path:
    """Compiles, and returns the folder to import the package from."""
    folder = ROOT / "build" / f"sanitize-{kind}"
    nanobind = subprocess.check_output(
        [sys.executable, "-m", "nanobind", "--cmake_dir"], text=True
    ).strip()
    configure = ["cmake", "-G", "Ninja", "-S", ROOT, "-B", folder, f"-DNESTMAP_SANITIZE={kind}"]
    configure += [f"-DPython_EXECUTABLE={sys.executable}", f"-Dnanobind_DIR={nanobind}"]
    path = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run([*map(str, configure)], check=True, env=path, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", str(folder)], check=True, env=path)
    site = folder / "site"
    shutil.rmtree(site, ignore_errors=True)
    shutil.copytree(ROOT / "src", site, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    for module in folder.glob("_core_*.so"):
        shutil.copy(module, site / "nestmap" / "core" / "native")
    (site / "sitecustomize.py").write_text(SITE)
    return site


def run(kind: str, site: Path) -> int:
    """Runs the tests on a build; its exit code."""
    compiler = os.environ.get("CXX", "g++")
    names = (LIBRARIES[kind], "libstdc++.so")  # the second for exceptions, which the first watches
    preload = [
        subprocess.check_output([compiler, f"-print-file-name={name}"], text=True).strip()
        for name in names
    ]
    environment = {
        **os.environ,
        **OPTIONS[kind],
        "LD_PRELOAD": " ".join(preload),
        "PYTHONPATH": str(site),
        "PYTHONMALLOC": "malloc",
        "OPENBLAS_NUM_THREADS": "1",
        "NESTMAP_SANITIZED": kind,
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "--capture=sys",
        "-p",
        "no:cacheprovider",
        *TESTS[kind],
    ]
    if kind == "thread":  # its shadow memory wants addresses that are not random
        command = ["setarch", platform.machine(), "-R", *command]
    return subprocess.run(command, env=environment, cwd=ROOT, check=False).returncode


def main() -> int:
    kinds = sys.argv[1:] or [*TESTS]
    failed = [kind for kind in kinds if run(kind, build(kind))]
    print(
        f"sanitizers: {', '.join(failed)} failed"
        if failed
        else f"sanitizers: {', '.join(kinds)} clean"
    )
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
