"""Compiled kernels against their NumPy twins, on every build that this CPU can run."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest
from conftest import builds, using

from nestmap.core import native as _native
from nestmap.core.native import kernels, twins
from nestmap.core.points.point_set import make_points

STUB = Path(inspect.getfile(_native)).with_name("_core_baseline.pyi")
RNG = np.random.default_rng(0)


def test_every_build_for_this_cpu_is_here() -> None:
    """A module that is missing, or that cannot be imported, would silently not be tested."""
    baseline = _native._load("baseline")
    assert (
        baseline is not None and baseline.supported("baseline") and not baseline.supported("sse9")
    )
    assert builds() == tuple(isa for isa in _native.ISAS if baseline.supported(isa))
    # NumPy asks the CPU on its own; what it does not report may be switched off
    # (NPY_DISABLE_CPU_FEATURES)
    found = {*np.show_config(mode="dicts")["SIMD Extensions"].get("found", ())}
    assert baseline.supported("avx2") or not found & {"AVX2", "X86_V3"}


@pytest.mark.parametrize("build", builds())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (300, 65)])
def test_project_matches_twin(build: str, dtype: type, shape: tuple[int, int]) -> None:
    x = RNG.normal(size=shape).astype(dtype) + dtype(100)
    mean, basis = x.mean(axis=0, dtype=np.float64), RNG.normal(size=(3, shape[1]))
    with using(build):
        one, two = kernels.project(x, mean, basis, 1), kernels.project(x, mean, basis, 2)
    np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(one, twins.project(x, mean, basis), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("build", builds())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_group_means_match_twin(build: str, dtype: type) -> None:
    x = RNG.normal(size=(500, 11)).astype(dtype)
    labels = np.sort(RNG.integers(0, 40, 500))
    labels = np.unique(labels, return_inverse=True)[1]
    order = np.arange(500)
    starts = np.append(np.flatnonzero(np.diff(labels, prepend=-1)), 500)
    weights = RNG.integers(1, 9, 500).astype(float)
    with using(build):
        one = kernels.group_means(x, order, starts, weights, 1)
        two = kernels.group_means(x, order, starts, weights, 2)
    np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(one, twins.group_means(x, order, starts, weights), rtol=1e-5)


@pytest.mark.parametrize("build", builds())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hash_matches_twin_and_sees_equal_rows(build: str, dtype: type) -> None:
    x = RNG.normal(size=(100, 9)).astype(dtype)
    x[50:] = x[:50]
    x[0, 0], x[50, 0] = 0.0, -0.0
    with using(build):
        hashes = kernels.hash_rows(x, 2)
    np.testing.assert_array_equal(hashes, twins.hash_rows(x))
    np.testing.assert_array_equal(hashes[:50], hashes[50:])
    assert len(np.unique(hashes)) == 50


@pytest.mark.parametrize("build", builds())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [1, 31, 100])
def test_counts_match_twin_next_to_the_limits(build: str, dtype: type, columns: int) -> None:
    values = RNG.integers(0, 5, (20, columns)).astype(dtype) / dtype(3)
    values[0, 0] = np.inf
    lower = RNG.integers(0, 5, (20, 4)) / 3  # doubles that float32 values miss by less than an ulp
    upper = np.float64(np.float32(lower))
    with using(build):
        below, upto = kernels.count_within(values, lower, upper)
    expected = twins.count_within(values, lower, upper)
    np.testing.assert_array_equal(below, expected[0])
    np.testing.assert_array_equal(upto, expected[1])
    assert upto.max() > 0


@pytest.mark.parametrize("build", builds())
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation", "manhattan"])
def test_pair_distances_match_twin(build: str, metric: str) -> None:
    points = make_points(RNG.normal(size=(50, 33)), metric)
    i, j = RNG.integers(0, 50, (2, 200))
    with using(build):
        found = kernels.pair_distances(points, i, j)
    np.testing.assert_allclose(
        found, points.pair_distances(i, points, j, points.norm), rtol=1e-12, atol=1e-13
    )


@pytest.mark.parametrize("build", builds())
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize("columns", [1, 7, 128, 129, 300])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_distances_of_bytes_have_the_bits_of_doubles(
    build: str, metric: str, columns: int, dtype: type
) -> None:
    rng = np.random.default_rng(0)
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, (50, columns), dtype=dtype, endpoint=True)
    x[0], x[1] = info.min, info.max  # the farthest there are
    i, j = np.repeat(np.arange(50), 50), np.tile(np.arange(50), 50)
    with using(build):
        narrow, wide = (
            kernels.pair_distances(make_points(v, metric), i, j) for v in (x, x.astype(np.float64))
        )
    np.testing.assert_array_equal(narrow, wide)


def test_a_row_alone_has_the_bits_of_the_batch() -> None:
    x = RNG.normal(size=(40, 131)).astype(np.float32)
    mean, basis = np.zeros(131), RNG.normal(size=(2, 131))
    for build in (*builds(), "off"):
        with using(build):
            batch = kernels.project(x, mean, basis, 2)
            alone = np.vstack([kernels.project(x[i : i + 1], mean, basis, 1) for i in range(40)])
        np.testing.assert_array_equal(batch, alone)


def declared() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Functions and methods of the stub, with the names and types of their parameters."""
    for node in ast.parse(STUB.read_text()).body:
        for part in node.body if isinstance(node, ast.ClassDef) else [node]:
            if (
                isinstance(part, ast.FunctionDef) and not part.decorator_list
            ):  # properties have no signature
                name = part.name if part is node else f"{node.name}.{part.name}"
                types = [
                    ast.unparse(a.annotation) if a.annotation else "Any" for a in part.args.args
                ]
                yield name, [*zip((a.arg for a in part.args.args), types, strict=True)]


def parameters_of(function: object) -> list[list[str]]:
    """Names of the parameters of a compiled function, for each of its overloads."""
    texts = [re.sub(r"\\\d+", "...", text) for text, *_ in function.__nb_signature__]  # type: ignore[attr-defined]  # \\0: a default
    while any("[" in text for text in texts):  # types of arrays are no Python
        texts = [re.sub(r"\[[^][]*\]", "", text) for text in texts]
    heads = [ast.parse(f"{text}: ...").body[0] for text in texts]
    return [[a.arg for a in head.args.args] for head in heads if isinstance(head, ast.FunctionDef)]


@pytest.mark.parametrize("build", builds())
def test_stub_has_the_parameters_of_the_module(build: str) -> None:
    """Callers pass positions, so that a name or an order that has drifted would not fail anywhere
    else.
    """
    module, n_checked = _native._load(build), 0
    for name, parameters in declared():
        overloads = parameters_of(attrgetter(name)(module))
        assert overloads and all(
            names == [name for name, _ in parameters] for names in overloads
        ), name
        n_checked += 1
    assert n_checked > 20


def test_stub_says_what_the_module_takes() -> None:
    module = _native._load("baseline")
    kinds = {
        "F32": "float32",
        "F64": "float64",
        "I32": "int32",
        "I64": "int64",
        "Real": "float32 float64",
        "bool_": "bool",
    }
    names = set()
    for name, arguments in declared():
        names.add(name.split(".")[0])
        for argument, told in arguments:
            texts = [text for text, *_ in attrgetter(name)(module).__nb_signature__]
            taken = {
                kind
                for text in texts
                for kind in re.findall(rf"\b{argument}: (?:\w+\[dtype=)?([\w.]+)", text)
            }
            words = re.sub(r"NDArray|np\.", "", told).replace("Callable[[float], None]", "object")
            expected = {
                kind for word in re.findall(r"\w+", words) for kind in kinds.get(word, word).split()
            }
            assert "Any" in told or {kind.split(".")[-1] for kind in taken} == expected - {
                "None"
            }, (name, argument)
    values = {
        line.split(":")[0] for line in STUB.read_text().splitlines() if re.match(r"\w+: \w+$", line)
    }
    assert names | values | {"Rows"} == {name for name in dir(module) if not name.startswith("_")}
