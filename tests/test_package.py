"""The installed package: public surface, lazy imports, a wheel without a compiler."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import LIMIT

import nestmap
from nestmap.core import native as _native
from tools import house

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "nestmap"


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    own = {name: value for name, value in os.environ.items() if name != "NESTMAP_NATIVE"}
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**own, **environment},
        check=False,
        timeout=LIMIT,
    )


def test_public_surface() -> None:
    assert set(nestmap.__all__) == {
        "FINCH",
        "Communities",
        "Descent",
        "FarRowsWarning",
        "FileFormatError",
        "HNNE",
        "Hierarchy",
        "Islands",
        "MemoryBudgetError",
        "ModelFileError",
        "Mosaic",
        "NativeMissingWarning",
        "ProgressEvent",
        "RecallWarning",
        "__version__",
        "build_hierarchy",
        "compare",
        "first_neighbors",
        "label_layers",
        "load",
        "plot",
        "plot_changes",
        "plot_layouts",
        "plot_tree",
    }
    assert all(hasattr(nestmap, name) for name in nestmap.__all__)
    assert f'version = "{nestmap.__version__}"' in (ROOT / "pyproject.toml").read_text()


# From low to high, and within a floor from low to high: a room imports from those before it, and
# from itself. `__init__`, `__main__` and the public modules only pass names on.
FLOORS = {
    "": ("_version", "errors"),
    "core": (
        "arrays",
        "nearest",
        "habits",
        "numbers",
        "framing",
        "threads",
        "forecast",
        "progress",
        "exact",
        "native",
        "rotations",
        "input",
        "points",
        "work",
    ),
    "tables": ("tables",),  # one room
    "method": (
        (
            "neighbors",
            "run",
            "describe",
            "hierarchy",
            "preliminary",
            "arrangement",
            "layout",
            "rows",
            "placement",
        )
    ),
    "model": (
        "settings",
        "plan",
        "memory",
        "costs",
        "planning",
        "tree",
        "fitted",
        "placing",
        "files",
        "comparison",
        "growth",
        "fit",
    ),
    "views": ("metrics", "plots", "explore"),
    "distributed": ("inputs", "lazy"),
    "estimators": (
        "parameters",
        "encoding",
        "state",
        "shown",
        "living",
        "dominance",
        "hnne",
        "clusters",
        "load",
    ),
    "app": ("readers", "sc", "naming", "runs", "cli"),
}
ROOMS = [f"{floor}.{room}".lstrip(".") for floor, rooms in FLOORS.items() for room in rooms]
PUBLIC = ("metrics", "naming", "neighbors", "readers", "sc", "streamlit")


def room_of(parts: tuple[str, ...]) -> str:
    """The room of a module: "core.native" of ("core", "native", "twins")."""
    if parts[0] == "distributed":  # one room
        return "distributed.lazy"
    if parts[0] == "tables":
        return "tables.tables"
    return ".".join(parts[:2]) if parts[0] in FLOORS else parts[0]


def imported_rooms(path: Path) -> set[str]:
    """The rooms of nestmap that a file imports from, anywhere in it."""
    package = path.relative_to(SOURCE).parent.parts
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            parts = (*base, *(node.module.split(".") if node.module else ()))
            if len(parts) > 1 or (parts and parts[0] not in FLOORS):
                rooms.add(room_of(parts))
            else:
                rooms |= {room_of((*parts, name.name)) for name in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("nestmap"):
            rooms.add("absolute import of nestmap")
    return rooms


def test_imports_point_downward() -> None:
    files = [path for path in SOURCE.rglob("*.py") if path.parent != SOURCE]
    assert len(files) > 50
    for path in files:
        parts = path.relative_to(SOURCE).with_suffix("").parts
        if parts[1:] == ("__init__",) and parts[0] not in ("distributed", "tables"):
            assert not imported_rooms(path)  # a floor is no room
            continue
        allowed = {*ROOMS[: ROOMS.index(room_of(parts)) + 1]}
        assert imported_rooms(path) <= allowed, f"{path} imports {imported_rooms(path) - allowed}"


def test_the_top_floor_is_the_public_surface() -> None:
    assert {path.stem for path in SOURCE.glob("*.py")} == {
        "__init__",
        "__main__",
        *FLOORS[""],
        *PUBLIC,
    }
    for name in PUBLIC:
        module = getattr(nestmap, name)
        assert module.__name__ == f"nestmap.{name}"
        assert all(hasattr(module, each) for each in module.__all__)


def test_the_rules_of_the_house_hold() -> None:
    counts = house.count(SOURCE)
    assert not house.broken_rules(counts), counts


def test_broken_rules_are_found(tmp_path: Path) -> None:
    parameters = ", ".join(f"p{i}" for i in range(house.MANY_PARAMETERS))
    many = [f"def many_{i}({parameters}): ..." for i in range(13)]
    lines = [
        "def long():",
        *["    print()"] * house.LONG_FUNCTION,
        "def three() -> tuple[int, int, int]: ...",
        "a, b = 1, 2",
        "a, b = b, a",  # an exchange is none
        f"c = '{'-' * house.LONG_LINE}'",
        *["d = 1  # type: ignore"] * 9,
        "# docs/index.md, docs/nowhere.md",
        *many,
    ]
    (tmp_path / "bad.py").write_text("\n".join(lines + ["# more"] * house.LONG_FILE))
    counts = house.count(tmp_path)
    assert {rule: len(places) for rule, places in vars(counts).items()} == {
        "long_files": 1,
        "long_functions": 1,
        "many_parameters": 13,
        "long_tuples": 1,
        "parallel_assignments": 1,
        "long_lines": 1,
        "ignored_types": 9,
        "missing_pages": 1,
    }
    assert house.broken_rules(counts) == [*vars(counts)]
    (tmp_path / "bad.py").write_text("\n".join(many[:12]))
    assert not house.broken_rules(house.count(tmp_path))


@pytest.mark.slow
def test_import_is_lean() -> None:
    code = (
        "import sys, sklearn.base; before = set(sys.modules); import nestmap;"
        "new = {m.split('.')[0] for m in set(sys.modules) - before};"
        "extras = {'sklearn.metrics', 'matplotlib', 'pandas', 'nestmap.views.plots', 'h5py', 'zarr', "
        "'dask'};"
        "found = extras & (set(sys.modules) - before); assert not found, found;"
        "print(sorted(new))"
    )
    done = run(code)
    assert done.returncode == 0, done.stderr
    assert "nestmap" in done.stdout


@pytest.mark.slow
def test_extras_are_imported_by_their_users_only() -> None:
    code = (
        "import sys, nestmap; assert not {'numpy', 'sklearn'} & set(sys.modules);"
        "import sklearn.base; early = set(sys.modules);"  # which imports pandas where it is
        "nestmap.HNNE, nestmap.FINCH, nestmap.load, nestmap.readers;"
        "extras = {'pyarrow', 'h5py', 'anndata', 'zarr', 'pandas', 'matplotlib', 'PIL', 'dask', "
        "'distributed'};"
        "assert not extras & (set(sys.modules) - early);"
        # which takes a while, for those with dask arrays
        "assert 'nestmap.distributed.fit' not in sys.modules"
    )
    done = run(code)
    assert done.returncode == 0, done.stderr


def test_names_come_when_they_are_asked_for() -> None:
    assert {*nestmap.__all__} <= {*dir(nestmap)} and nestmap.readers.__name__ == "nestmap.readers"
    with pytest.raises(AttributeError, match="has no attribute 'umap'"):
        nestmap.umap  # noqa: B018


@pytest.mark.slow
def test_a_build_can_be_forced() -> None:
    assert _native.builds()
    for build in _native.builds():
        done = run("from nestmap.core.native import core; print(core().isa)", NESTMAP_NATIVE=build)
        assert done.stdout.strip() == build, done.stderr
    assert (
        run(
            "from nestmap.core.native import core; print(core())", NESTMAP_NATIVE="off"
        ).stdout.strip()
        == "None"
    )
    wrong = run("from nestmap.core.native import core; core()", NESTMAP_NATIVE="sse9")
    assert "NESTMAP_NATIVE='sse9'" in wrong.stderr


@pytest.mark.slow
def test_wheel_without_a_compiler_works_and_says_so_once(tmp_path: Path) -> None:
    """No C++ compiler at build time: the wheel installs, fits on the NumPy twins and warns once."""
    no_compiler = {"CC": "/nonexistent/cc", "CXX": "/nonexistent/c++"}
    source = tmp_path / "source"  # a copy: someone may have put modules into the tree
    for name in ("cpp", "src"):
        shutil.copytree(
            ROOT / name, source / name, ignore=shutil.ignore_patterns("*.so", "__pycache__")
        )
    for name in ("CMakeLists.txt", "LICENSE", "README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, source)
    build = subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "--no-build-isolation",
            "--config-settings",
            f"build-dir={tmp_path / 'build'}",
            "--wheel-dir",
            str(tmp_path),
            str(source),
        ],
        capture_output=True,
        text=True,
        env={**os.environ, **no_compiler},
        check=False,
        timeout=LIMIT,
    )
    assert build.returncode == 0, build.stderr
    wheel = next(tmp_path.glob("nestmap-*.whl"))
    assert wheel.name.endswith(
        "-py3-none-any.whl"
    )  # pip would take one of this platform for one with kernels
    target = tmp_path / "site"
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--target",
            str(target),
            str(wheel),
        ],
        check=True,
        timeout=LIMIT,
    )
    assert not list(target.rglob("_core_*.so"))
    built = (
        target / "nestmap" / "views" / "explore" / "page"
    )  # the page is part of the wheel: users need no Node
    assert {path.name for path in built.iterdir()} >= {"index.html", "app.js", "app.css"}
    code = (
        f"import sys; sys.path.insert(0, {str(target)!r}); sys.meta_path = [f for f in "
        "sys.meta_path "
        "if 'editable' not in type(f).__module__];"
        "import nestmap, warnings; from sklearn.datasets import load_digits;"
        f"assert nestmap.__file__.startswith({str(target)!r}), nestmap.__file__;"
        "warnings.simplefilter('always'); X = load_digits().data[:300];"
        "model = nestmap.HNNE().fit(X); model.fit(X);"
        "assert (model.transform(X) == model.embedding_).all(); print(model.neighbor_report_)"
    )
    done = run(code)
    assert done.returncode == 0, done.stderr
    assert "exact on numpy" in done.stdout
    assert done.stderr.count("NativeMissingWarning") == 1 and "--no-cache-dir" in done.stderr


@pytest.mark.slow
def test_demo(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "demo.py"), "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stderr
    assert (
        "trustworthiness" in done.stdout
        and "level 0" in done.stdout
        and "Lemma 1 (radius 0.2): holds" in done.stdout
    )
    assert (tmp_path / "digits.png").stat().st_size > 50_000
    page = tmp_path / "explorer" / "index.html"
    assert str(page) in done.stdout.splitlines()[-1]
    assert (
        '"transport": "static"' in page.read_text()
        and (page.parent / "data" / "images" / "1.png.js").exists()
    )
