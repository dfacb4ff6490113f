"""Files that say wrong things under right checksums: refused when they are loaded, with a sentence."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzz import files, folders
from fuzz.hostile import HostileCase, complaint, run_all
from fuzz.mutations import Container, paths_of
from scipy.spatial.distance import cdist

import nestmap
from nestmap import HNNE, Descent, ModelFileError
from nestmap.method.layout.islands.coasts import trace_coasts
from nestmap.model.files import container
from tools.flat import make_hnne

X = np.random.default_rng(0).normal(size=(60, 4))


def changed(name: str, change: Callable[[Container], Any]) -> bytes:
    file = Container(files.good_file(name))
    change(file)
    return file.packed()


def refused(folder: Path, data: bytes, match: str) -> None:
    path = folder / "hostile.nestmap"
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match=match) as caught:
        nestmap.load(path)
    assert str(path) in str(caught.value)
    str(caught.value).encode()  # can be printed


def put(*path: Any) -> Callable[[Container], None]:
    """Sets a place in the document to the last argument."""

    def change(file: Container) -> None:
        home = file.document
        for key in path[:-2]:
            home = home[key]
        home[path[-2]] = path[-1]

    return change


# -- JSON
# ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deep", [50, 330, 800])
def test_deep_nesting_is_refused_wherever_it_is(deep: int, tmp_path: Path) -> None:
    nested = json.loads("[" * deep + "]" * deep)
    refused(
        tmp_path, changed("islands", put("parameters", "metric_params", nested)), "nested|no JSON"
    )
    refused(tmp_path, changed("islands", put("map", nested)), "nested|no JSON")
    data = files.good_file("islands")
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    header["__metadata__"]["more"] = nested
    text = json.dumps(header).encode()
    refused(tmp_path, struct.pack("<Q", len(text)) + text + data[8 + length :], "nested|no JSON")


@pytest.mark.parametrize(
    "path", [("tree", "far_distance"), ("map", "radius"), ("parameters", "target_recall")], ids=str
)
@pytest.mark.parametrize(
    "number", [10**4000, -(10**400), 2**64, 1e999], ids=["4000 digits", "400", "2^64", "1e999"]
)
def test_numbers_beyond_all_use_are_refused(
    path: tuple[str, ...], number: Any, tmp_path: Path
) -> None:
    refused(tmp_path, changed("islands", put(*path, number)), "no JSON")


@pytest.mark.parametrize(
    "path",
    [
        ("tree", "metric"),
        ("tree", "reports", 0, "note"),
        ("parameters", "layout"),
        ("map", "kind"),
        ("estimator",),
    ],
    ids=str,
)
def test_halves_of_characters_are_refused(path: tuple[Any, ...], tmp_path: Path) -> None:
    refused(tmp_path, changed("islands", put(*path, "\ud800")), "half of a character")


def test_half_a_character_in_the_text_of_the_document(tmp_path: Path) -> None:
    file = Container(files.good_file("islands"))
    metadata = {**file.metadata, "document": '{"estimator": "\ud800"}'}
    metadata.pop("sha256")
    metadata["sha256"] = container._digest({}, metadata)
    text = json.dumps({"__metadata__": metadata}).encode()
    refused(tmp_path, struct.pack("<Q", len(text)) + text, "checksums")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("tree", "reports"), []),
        (("tree", "reports", 0), None),
        (("tree", "reports", 0, "seconds"), {"a": "nan"}),
        (("tree", "metric"), "mahalanobis"),
        (("tree", "metric"), "no such"),
        (("tree", "is_sparse"), True),
        (("map", "radius"), "nan"),
        (("map", "tightness"), -1),
        (("map", "coordinates"), None),
        (("parameters", "n_jobs"), "x"),
        (("parameters", "n_jobs"), 2**40),
        (("parameters", "layout"), {"settings": "descent", "parameters": {"radius": "wide"}}),
        (("parameters", "layout"), {"settings": "descent", "parameters": {"inflate": 3}}),
        (("parameters", "layout"), {"settings": "descent", "parameters": {"no_such": 3}}),
        (("parameters", "layout"), {"settings": ["descent"]}),
        (("parameters", "n_components"), 2.0),
        (("parameters", "like"), "/etc/passwd"),
        (("parameters", "metric_params"), 1),
    ],
    ids=str,
)
def test_values_that_would_fail_later_are_refused(
    path: tuple[Any, ...], value: Any, tmp_path: Path
) -> None:
    refused(tmp_path, changed("islands", put(*path, value)), "hostile")


# -- arrays
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", files.MODELS)
def test_no_array_may_hold_what_is_no_number(name: str, tmp_path: Path) -> None:
    """NaN and infinity in any array, with right checksums; only a single node is infinitely far
    from others.
    """
    good = Container(files.good_file(name))
    floats = [at for at, array in good.arrays.items() if array.dtype.kind == "f" and array.size]
    assert len(floats) > (1 if name.startswith(("FINCH", "Communities")) else 5)
    for at in floats:
        for value in (np.nan, np.inf, -np.inf):
            spoilt = good.arrays[at].copy()
            spoilt.reshape(-1)[-1] = value
            file = Container(files.good_file(name))
            file.arrays[at] = spoilt
            if not (value == np.inf and at.endswith("nearest")):
                refused(tmp_path, file.packed(), "NaN|bounds|beyond|weights")


def spoil(name: str, values: Callable[[np.ndarray], Any]) -> Callable[[Container], None]:
    def change(file: Container) -> None:
        file.arrays[name] = np.asarray(
            values(file.arrays[name].copy()), dtype=file.arrays[name].dtype
        )

    return change


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("tree/links0/ranks", lambda ranks: np.ones_like(ranks)),
        ("tree/links0/ranks", lambda ranks: ranks - 1),
        ("tree/links1/ranks", lambda ranks: np.where(ranks == 1, 2, ranks)),
        ("tree/links0/ids", lambda ids: np.arange(len(ids))),
        ("tree/links0/ids", lambda ids: np.roll(ids, 1)),
        ("tree/links1/ids", lambda ids: np.zeros_like(ids)),
    ],
    ids=["equal", "from 0", "one twice", "to themselves", "to others", "to one"],
)
def test_links_must_be_those_of_the_tree(name: str, values: Any, tmp_path: Path) -> None:
    refused(
        tmp_path,
        changed("islands", spoil(name, values)),
        "each of 1 to|do not connect|expected 0 to|has shape",
    )


def test_a_metric_must_not_take_rows_beyond_all_numbers(tmp_path: Path) -> None:
    spoilt = changed(
        "mosaic",
        spoil("tree/metric/matrix", lambda matrix: np.where(matrix == matrix[0, 0], 1e155, matrix)),
    )
    refused(tmp_path, spoilt, r"takes rows beyond 1e\+140")


def test_axes_that_overflow_beside_an_empty_one(tmp_path: Path) -> None:
    """NumPy refuses such a shape with an error of its own."""
    entry = {"dtype": "F64", "shape": [0, 2**47, 2**47], "data_offsets": [0, 0]}
    file = Container(files.good_file("islands"))
    metadata = {**file.metadata, "document": json.dumps({"crc32": {"a": 0}})}
    metadata.pop("sha256")
    metadata["sha256"] = container._digest({"a": entry}, metadata)
    text = json.dumps({"a": entry, "__metadata__": metadata}).encode()
    refused(tmp_path, struct.pack("<Q", len(text)) + text, "description of 'a' is damaged")


# -- what the fuzzer found beside files
# ----------------------------------------------------------------


def test_a_model_that_forgot_rows_of_distances_comes_back(tmp_path: Path) -> None:
    """Its medoids and landmarks are rows of the matrix that it was fitted on."""
    model = HNNE(metric="precomputed").fit(cdist(X, X)).forget(range(30))
    model.save(tmp_path / "m")
    again, new = nestmap.load(tmp_path / "m"), cdist(X[:5] + 0.1, X)
    np.testing.assert_array_equal(model.transform(new), again.transform(new))
    assert (
        str(model.hierarchy_.summary()).splitlines()[0]
        == str(again.hierarchy_.summary()).splitlines()[0]
    )


@pytest.mark.parametrize(
    "options", [{}, {"detail": "leaves"}, {"layout": "descent", "arrangement": "global"}], ids=str
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::nestmap.FarRowsWarning")
def test_rows_beyond_all_numbers_can_come(options: dict[str, Any]) -> None:
    """In the units of tiny rows, others are infinitely far away."""
    model = make_hnne(**options).fit(X * 1e-300)
    more = model.extend(np.concatenate([X[:2], -X[2:4]]) * 1e60)
    assert np.isfinite(more.embedding_).all()


def test_centroids_that_are_no_means_of_the_rows_are_told(tmp_path: Path) -> None:
    """Nothing in the file contradicts them, but a layout in units of the rows would overflow."""

    def far(file: Container) -> None:
        centroids = file.arrays["tree/level0/centroids"].copy()
        centroids[0, 0] = 1e90
        file.arrays["tree/level0/centroids"] = centroids

    (tmp_path / "m").write_bytes(changed("descent", far))
    with pytest.raises(ValueError, match="the file of the model was changed"):
        nestmap.load(tmp_path / "m").relayout(files.MODELS["descent"][1])


@pytest.mark.parametrize("name", ["descent", "mosaic"])
def test_rows_that_lie_far_from_their_nodes_are_audited(name: str, tmp_path: Path) -> None:
    """In a unit of the rows alone, nodes would be infinitely far away."""
    spoilt = changed(
        name, spoil("map/positions", lambda positions: np.full_like(positions, 1e-320))
    )
    (tmp_path / "m").write_bytes(spoilt)
    audit = nestmap.load(tmp_path / "m").audit()
    assert not audit


@pytest.mark.parametrize("far", [0.0, 1e9, 1e39, 1e140])
def test_a_single_place_has_a_coast_wherever_it_is(far: float) -> None:
    coasts = trace_coasts(np.full((7, 2), far), np.zeros(7, dtype=np.int64), 1)
    assert len(coasts) == 1


# -- the fuzzers, for a few seconds
# --------------------------------------------------------------------


def test_some_mutations_of_model_files() -> None:
    assert [str(found) for found in run_all(files.make_case, files.run_case, 1, 0, 120)] == []


def test_some_mutations_of_runs() -> None:
    assert [str(found) for found in run_all(folders.make_case, folders.run_case, 1, 0, 8)] == []


def test_cases_are_the_same_each_time_and_of_all_kinds() -> None:
    cases = [files.make_case(2, number) for number in range(150)]
    assert (
        str(cases[17]) == str(files.make_case(2, 17))
        and cases[17].data == files.make_case(2, 17).data
    )
    told = " ".join(case.told for case in cases)
    for word in ("flip", "odd ", "near ", "drop ", "rename ", "values of", "form of", "name of"):
        assert word in told
    assert {case.source for case in cases} == {*files.MODELS}


def test_an_unchanged_file_is_taken_apart_and_put_together(tmp_path: Path) -> None:
    for name in files.MODELS:
        assert (
            files.run_case(
                HostileCase(1, name, "nothing", Container(files.good_file(name)).packed())
            )
            == []
        )


def test_errors_of_other_libraries_and_crashes_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def told(run: Callable[[], Any]) -> str:
        with pytest.raises(Exception) as caught:  # whatever it is
            run()
        return complaint(caught.value)

    assert told(lambda: HNNE(layout=Descent(radius=9)).fit(X)) == ""
    assert "LinAlgError" in told(lambda: np.linalg.inv(np.zeros((2, 2))))
    assert "ValueError" in told(lambda: np.zeros(3).reshape(2))
    assert "IndexError" in told(lambda: [][0])
    monkeypatch.setattr(nestmap, "load", lambda path, mmap: {}["no"])
    assert "load: KeyError" in files.run_case(files.make_case(2, 3))[0][0]


def test_every_place_of_a_document_can_be_changed() -> None:
    document = {"a": [1, {"b": 2}], "c": None}
    assert paths_of(document) == [(), ("a",), ("a", 0), ("a", 1), ("a", 1, "b"), ("c",)]
