"""Model files: the same bits back, and a clear error for whatever else a file may hold."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import tracemalloc
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import LIMIT, digits
from hypothesis import given
from hypothesis import strategies as st
from make_models import MODELS as MADE
from scipy import sparse
from scipy.spatial.distance import cdist

import nestmap
from nestmap import FINCH, HNNE, Communities, Descent, Islands, ModelFileError
from nestmap.method.neighbors import first_neighbors
from nestmap.model.files import container
from nestmap.model.files.model import KIND, VERSION
from nestmap.model.files.values import Writer, narrow

FIXTURES = Path(__file__).parent / "models"
X, NEW = digits()[:400], digits()[400:450] + 0.25


def positive(n: int = 400) -> np.ndarray:
    return digits()[:n] + 1


MODELS: dict[str, tuple[Any, Any, Any]] = {
    "islands of rows": (HNNE(), X, NEW),
    "islands of leaves": (HNNE(layout=Islands(detail="leaves", tightness=2)), X, NEW),
    "descent": (HNNE(layout=Descent(radius=0.2)), X, NEW),
    "3-D": (HNNE(3), X, NEW),
    "12-D": (HNNE(12), X, NEW),
    "mosaic": (HNNE(layout="mosaic"), X, NEW),
    "inflated": (HNNE(layout=Descent(arrangement="global", inflate=True)), X, NEW),
    "random": (
        HNNE(layout=Descent(preliminary="random", arrangement="global", random_state=3)),
        X,
        NEW,
    ),
    "random projection": (
        HNNE(layout=Descent(preliminary="random_projection", arrangement="global")),
        X,
        NEW,
    ),
    "given coordinates": (
        HNNE(layout=Descent(preliminary=X[:, 10:12].astype(float), arrangement="global")),
        X,
        NEW,
    ),
    "given neighbours": (HNNE(neighbors=first_neighbors(X).ids), X, NEW),
    "first neighbours": (HNNE(neighbors=first_neighbors(X)), X, NEW),
    "equal rows": (HNNE(), np.repeat(X[:100], 3, axis=0), NEW),
    "equal rows apart": (
        HNNE(neighbors=(np.arange(300) + 100) % 300),
        np.tile(X[:100], (3, 1)),
        NEW,
    ),
    "nearest row": (HNNE(new_points="neighbor"), X, NEW),
    "nearest row, sparse": (
        HNNE(new_points="neighbor", metric="cosine"),
        sparse.csr_matrix(X),
        NEW,
    ),
    "nearest row, brute force": (
        HNNE(new_points="neighbor", metric="canberra"),
        positive(200),
        positive(220)[200:],
    ),
    "float64": (HNNE(), X + np.pi, NEW + np.pi),
    "uint8": (HNNE(), X.astype(np.uint8), NEW),
    "float16": (HNNE(metric="cosine"), X.astype(np.float16), NEW),
    "frame": (
        HNNE(layout="descent"),
        pd.DataFrame(X[:, :5], columns=["a", "ü", "c d", "", "\udc80"]),
        None,
    ),
    "sparse": (HNNE(), sparse.csr_matrix(X), sparse.csr_matrix(NEW)),
    "sparse jaccard": (
        HNNE(metric="jaccard"),
        sparse.csr_matrix(X > 7),
        sparse.csr_matrix(NEW > 7),
    ),
    "cosine": (HNNE(metric="cosine"), X, NEW),
    "manhattan": (HNNE(metric="manhattan", layout="mosaic"), X, NEW),
    "correlation": (HNNE(metric="correlation"), X, NEW),
    "mahalanobis": (HNNE(metric="mahalanobis"), X[:, 20:24], NEW[:, 20:24]),
    "seuclidean": (HNNE(metric="seuclidean", metric_params={"V": np.full(64, 2.0)}), X, NEW),
    "hellinger": (HNNE(metric="hellinger", layout="descent"), X, NEW),
    "minkowski": (
        HNNE(metric="minkowski", metric_params={"p": 3, "w": np.arange(1.0, 65)}),
        X[:200],
        NEW,
    ),
    "chebyshev": (HNNE(metric="chebyshev"), X[:200], NEW),
    "precomputed": (HNNE(metric="precomputed"), cdist(X, X), cdist(NEW, X)),
    "precomputed, nearest row": (
        HNNE(metric="precomputed", new_points="neighbor"),
        cdist(X, X),
        cdist(NEW, X),
    ),
    "two rows": (HNNE(), X[:2], NEW),
    "one row": (HNNE(), X[:1], NEW),
    "tree of first neighbours": (HNNE(hierarchy="first_neighbors"), X, NEW),
    "FINCH": (FINCH(), X, NEW),
    "FINCH of many clusters": (FINCH(n_clusters=350), X, NEW),
    "FINCH, sparse": (FINCH(n_clusters=350, metric="cosine"), sparse.csr_matrix(X), NEW),
    "FINCH, precomputed": (FINCH(n_clusters=150, metric="precomputed"), cdist(X, X), cdist(NEW, X)),
    "Communities": (Communities(noise=0.6), X, NEW),
    "Communities of many clusters": (Communities(n_clusters=350, noise=0.2), X, NEW),
}


def same(a: Any, b: Any) -> None:
    if sparse.issparse(a):
        assert sparse.issparse(b)
        a, b = a.toarray(), b.toarray()
    if a is None or b is None:
        assert a is b
        return
    assert a.dtype == b.dtype and a.shape == b.shape
    np.testing.assert_array_equal(a, b)


@cache
def fitted(name: str) -> Any:
    model, rows, _ = MODELS[name]
    return model.fit(rows)


@cache
def outlines(name: str) -> Any:
    return [*fitted(name).layout_.outlines(0)]


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_with_the_same_bits(name: str, mmap: bool, tmp_path: Path) -> None:
    model = fitted(name)
    _, rows, new = MODELS[name]
    new = rows if new is None else new
    model.save(tmp_path / "model.nestmap")
    assert [path.name for path in tmp_path.iterdir()] == ["model.nestmap"]
    again = nestmap.load(str(tmp_path / "model.nestmap"), mmap=mmap)
    assert type(again) is type(model) and vars(again).keys() == vars(model).keys()
    same(model.labels_, again.labels_)
    for level in range(model.hierarchy_.n_levels):
        same(model.predict(new, level=level), again.predict(new, level=level))
        same(model.hierarchy_.labels(level), again.hierarchy_.labels(level))
        one, two = model.hierarchy_.levels[level], again.hierarchy_.levels[level]
        same(one.sizes, two.sizes)
        same(one.keys, two.keys)
        same(one.agreement, two.agreement)
        assert repr((one.link, one.gap)) == repr((two.link, two.gap))
        if model.hierarchy_.strengths is not None:
            same(model.hierarchy_.membership(level), again.hierarchy_.membership(level))
    for n in {1, -(-model.hierarchy_.n_rows // 2), model.hierarchy_.n_rows}:
        same(model.hierarchy_.labels(n_clusters=n), again.hierarchy_.labels(n_clusters=n))
    same(model.predict(new), again.predict(new))
    assert repr(model.hierarchy_) == repr(again.hierarchy_) and repr(
        model.hierarchy_.reports
    ) == repr(again.hierarchy_.reports)
    same(getattr(model, "feature_names_in_", None), getattr(again, "feature_names_in_", None))
    if isinstance(model, FINCH | Communities):
        for each in (
            "partitions_",
            "cluster_centers_",
            "medoid_indices_",
            *vars(again).keys() & {"membership_"},
        ):
            same(getattr(model, each), getattr(again, each))
        return
    same(model.embedding_, again.embedding_)
    for a, b in zip(
        model.transform(new, return_distance=True),
        again.transform(new, return_distance=True),
        strict=True,
    ):
        same(a, b)
    same(model.transform(rows), again.transform(rows))
    assert str(model.audit()) == str(again.audit()) and repr(model.far_distance_) == repr(
        again.far_distance_
    )
    if model.n_components == 2:
        np.testing.assert_equal([*again.layout_.outlines(0)], outlines(name))
    same(
        model.relayout(rows, layout="descent").embedding_,
        again.relayout(rows, layout="descent").embedding_,
    )
    with pytest.raises(ValueError, match="read-only"):
        again.embedding_[0] = 0


def test_parameters_come_back(tmp_path: Path) -> None:
    model = HNNE(
        layout=Descent(radius=0.25, random_state=np.int32(4), inflate=np.bool_(False)),
        max_memory="1GB",
        work_dir=tmp_path / "w",
        n_jobs=np.int64(1),
        callback=lambda event: None,
    ).fit(X[:100])
    model.save(tmp_path / "m")
    expected = {**model.get_params(), "callback": None, "work_dir": str(tmp_path / "w")}
    found = nestmap.load(tmp_path / "m").get_params()
    assert isinstance(found.pop("layout"), Descent) and expected.pop("layout")
    assert found == expected and found["layout__random_state"] == 4
    other = HNNE(layout=Descent(random_state=np.random.RandomState(0))).fit(X[:100])
    other.save(tmp_path / "m")
    assert nestmap.load(tmp_path / "m").layout.random_state is None


def test_a_saved_model_can_be_saved_and_fitted_again(tmp_path: Path) -> None:
    HNNE().fit(X).save(tmp_path / "a")
    model = nestmap.load(tmp_path / "a")
    model.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    same(model.fit(X[:100]).embedding_, HNNE().fit(X[:100]).embedding_)


@pytest.mark.slow
def test_another_process_places_rows_alike(tmp_path: Path) -> None:
    model = HNNE().fit(X)
    model.save(tmp_path / "m")
    np.save(tmp_path / "new.npy", NEW)
    code = "import nestmap, sys, numpy; print(nestmap.load(sys.argv[1]).transform(sys.argv[2]).tobytes().hex())"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "m"), str(tmp_path / "new.npy")],
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT,
    )
    assert done.stdout.strip() == model.transform(NEW).tobytes().hex()


def test_what_cannot_be_saved_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    def distance(a: Any, b: Any) -> float:
        return float(np.abs(a - b).sum())

    model = HNNE(metric=distance).fit(X[:50])
    with pytest.raises(ValueError, match="a model file holds no functions"):
        model.save(tmp_path / "m")
    with pytest.raises(ValueError, match="Special cannot be saved"):
        type("Special", (HNNE,), {})().fit(X[:50]).save(tmp_path / "m")
    with pytest.raises(Exception, match="not fitted"):
        HNNE().save(tmp_path / "m")
    assert [*tmp_path.iterdir()] == []


def test_a_write_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = HNNE().fit(X[:100])
    model.save(tmp_path / "m")
    before = (tmp_path / "m").read_bytes()
    monkeypatch.setattr(
        container.os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left"))
    )
    with pytest.raises(OSError, match="No space left"):
        model.save(tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == before and len([*tmp_path.iterdir()]) == 1


def test_the_file_is_what_the_documentation_says(tmp_path: Path) -> None:
    """Read with nothing but the standard library and NumPy, as another program would."""
    model = HNNE().fit(X)
    model.save(tmp_path / "m")
    data = (tmp_path / "m").read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    assert (8 + length) % 64 == 0
    document = json.loads(header["__metadata__"]["document"])
    name, kind = document["arrays"]["map/positions"]
    entry = header[name]
    start, stop = (8 + length + at for at in entry["data_offsets"])
    positions = (
        np.frombuffer(data[start:stop], container.TYPES[entry["dtype"]])
        .reshape(entry["shape"])
        .astype(kind)
    )
    np.testing.assert_array_equal(positions, model.embedding_)
    for entry in (header[key] for key in header if key != "__metadata__"):  # can be mapped
        assert (8 + length + entry["data_offsets"][0]) % np.dtype(
            container.TYPES[entry["dtype"]]
        ).itemsize == 0


def test_narrowing_keeps_every_bit() -> None:
    rng = np.random.default_rng(0)
    for values in (
        rng.normal(size=50),
        rng.normal(size=50).astype("f4"),
        rng.normal(size=50).astype("f2").astype("f8"),
        np.array([-0.0, np.inf, -np.inf, 5e-324]),
        np.array([np.nan, 1.0]),
        np.array([1e-8, 65504.0]),
        np.array([2**63], dtype=np.uint64),
        np.array([-(2**31), 7]),
        np.array([255]),
        np.array([], dtype=np.int64),
        rng.normal(size=(0, 3)),
        np.array([True, False]),
    ):
        kept = narrow(values)
        assert kept.dtype.itemsize <= values.dtype.itemsize
        assert kept.astype(values.dtype).tobytes() == values.tobytes()
    assert narrow(np.arange(300)).dtype == np.uint16 and narrow(np.array([0.5])).dtype == np.float16


# -- hostile files
# -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("good") / "m"
    HNNE(layout="mosaic").fit(X[:60, :6]).save(path)
    return path.read_bytes()


def split(data: bytes) -> tuple[dict[str, Any], bytes]:
    (length,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def joined(header: Any, body: bytes) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def signed(header: dict[str, Any], document: dict[str, Any], body: bytes) -> bytes:
    """A file whose checksums are right, whatever it says."""
    tensors = {key: value for key, value in header.items() if key != "__metadata__"}
    metadata = {"format": KIND, "version": str(VERSION), "document": json.dumps(document)}
    digest = container._digest(tensors, metadata)
    return joined({**tensors, "__metadata__": {**metadata, "sha256": digest}}, body)


def refused(tmp_path: Path, data: bytes, match: str | None = None) -> None:
    path = tmp_path / "hostile.nestmap"
    path.write_bytes(data)
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=match) as caught:
            nestmap.load(path)
        assert tracemalloc.get_traced_memory()[1] < 20 * len(data) + 30_000_000
    finally:
        tracemalloc.stop()
    assert str(path) in str(caught.value)


def test_damaged_files_are_refused(good: bytes, tmp_path: Path) -> None:
    header, body = split(good)
    first = next(key for key in header if key != "__metadata__")
    for data, match in (
        (b"", "not a model file"),
        (b"\x93NUMPY\x01\x00 and so on", "not a model file"),
        (b"PK\x03\x04" + b"\0" * 100, "not a model file"),
        (struct.pack("<Q", 2**63) + good[8:], "not a model file"),
        (struct.pack("<Q", 2**40) + good[8:], "not a model file"),
        (good[:200], "cut short"),
        (good[:-1], "Copy it again"),
        (good + b"\0", "Copy it again"),
        (joined(b"[" * 100_000, b""), "damaged or no JSON"),
        (joined(b'{"a":1e999,"b":NaN}', b""), "no JSON"),
        (joined(b'{"a":1,"a":2}', b""), "twice"),
        (joined(b'{"a":' + b"9" * 10_000 + b"}", b""), "damaged or no JSON"),
        (joined([1, 2], b""), "no JSON object"),
        (
            joined({"a": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]}}, b"1234"),
            "not a file of the format",
        ),
        (
            joined({**header, "__metadata__": {**header["__metadata__"], "format": "else"}}, body),
            "format 'else'",
        ),
        (
            joined({**header, "__metadata__": {**header["__metadata__"], "version": "999"}}, body),
            "pip install -U",
        ),
        (
            joined({**header, "__metadata__": {**header["__metadata__"], "version": "٣"}}, body),
            "no number",
        ),
        (
            joined({**header, "__metadata__": {**header["__metadata__"], "document": "{}"}}, body),
            "checksum",
        ),
        (joined({**header, first: {**header[first], "dtype": "U64"}}, body), "checksum|damaged"),
        (joined(header, bytes(len(body))), "another checksum"),
    ):
        refused(tmp_path, data, match)


WRONG_TENSORS: list[dict[str, Any]] = [
    {"dtype": "O", "shape": [1], "data_offsets": [0, 8]},
    {"dtype": "F64", "shape": [2**62, 2**62], "data_offsets": [0, 8]},
    {"dtype": "F64", "shape": [-1], "data_offsets": [0, -8]},
    {"dtype": "F64", "shape": [1.0], "data_offsets": [0, 8]},
    {"dtype": "F64", "shape": [True], "data_offsets": [0, 8]},
    {"dtype": "F64", "shape": [1] * 100, "data_offsets": [0, 8]},
    {"dtype": "F64", "shape": [1], "data_offsets": [8, 16]},
    {"dtype": "F64", "shape": [1], "data_offsets": [0, 2**60]},
    {"dtype": "F64", "shape": [1]},
    {"dtype": "F64", "shape": "1", "data_offsets": [0, 8]},
]


@pytest.mark.parametrize("entry", WRONG_TENSORS)
def test_wrong_descriptions_of_arrays_are_refused(entry: dict[str, Any], tmp_path: Path) -> None:
    refused(
        tmp_path,
        signed({"a": entry}, {"crc32": {"a": 0}}, bytes(8)),
        "description of 'a' is damaged",
    )


def changes() -> list[tuple[str, Any]]:
    return [
        ("estimator", "object"),
        ("estimator", None),
        ("features", {"n_features_in_": 7}),
        ("features", []),
        ("features", {"n_features_in_": True}),
        ("tree", None),
        ("map", None),
        ("map", []),
        ("extra", None),
        ("extra", {"label_level": 99}),
        ("extra", {}),
        ("parameters", {"no_such": 1}),
        ("parameters", {"__class__": 1}),
        ("parameters", {"n_components": 3}),
        ("parameters", {"n_jobs": {"array": "nowhere"}}),
        ("parameters", {"n_jobs": {"call": "os.system"}}),
        ("parameters", {"n_jobs": [[[1]]]}),
        ("parameters", {"layout": {"settings": "spiral", "parameters": {}}}),
        ("parameters", {"layout": {"settings": "mosaic", "parameters": {"radius": 1}}}),
        ("parameters", {"layout": {"settings": "descent", "parameters": []}}),
        ("parameters", {"layout": {"settings": "descent", "parameters": {"radius": [1]}}}),
        ("arrays", {}),
        ("arrays", []),
    ]


@pytest.mark.parametrize("change", changes(), ids=str)
def test_wrong_documents_with_right_checksums_are_refused(
    change: tuple[str, Any], good: bytes, tmp_path: Path
) -> None:
    header, body = split(good)
    document = json.loads(header["__metadata__"]["document"])
    refused(tmp_path, signed(header, {**document, change[0]: change[1]}, body))


def paths_of(value: Any, prefix: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All places in a JSON value."""
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [prefix, *(path for key, each in items for path in paths_of(each, (*prefix, key)))]


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    other = dict(value) if isinstance(value, dict) else list(value)
    other[path[0]] = changed(other[path[0]], path[1:], new)
    return other


ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 2**70),
    st.floats(allow_nan=False),
    st.text(max_size=5),
    st.just([]),
    st.just({}),
    st.sampled_from(
        ["tree/level0/members", "map/positions", "<f8", "|u1", "cosine", "precomputed"]
    ),
)


def new_rows(file: Path) -> Any:
    return MADE[file.stem.partition("-")[2]][2]


FILES = sorted(FIXTURES.glob("*.nestmap"))


def loads_or_is_refused(path: Path, data: bytes, new: Any) -> None:
    path.write_bytes(data)
    try:
        model = nestmap.load(path)
    except ModelFileError:
        return
    with suppress(
        ValueError, TypeError, IndexError
    ):  # whatever loads may be nonsense, but does no harm
        model.predict(new)
        model.transform(new) if isinstance(model, HNNE) else model.hierarchy_.labels(n_clusters=2)


@given(data=st.data())
def test_any_change_of_the_document_is_survived(data: st.DataObject, tmp_path_factory: Any) -> None:
    file = data.draw(st.sampled_from(FILES))
    header, body = split(file.read_bytes())
    document = json.loads(header["__metadata__"]["document"])
    path = data.draw(st.sampled_from([path for path in paths_of(document) if path]))
    other = changed(document, path, data.draw(ANYTHING))
    loads_or_is_refused(
        tmp_path_factory.getbasetemp() / "fuzz.nestmap", signed(header, other, body), new_rows(file)
    )


@given(data=st.data())
def test_any_values_in_arrays_are_survived(data: st.DataObject, tmp_path_factory: Any) -> None:
    """Arrays with wrong numbers and right checksums: indices out of range must not reach a kernel."""
    file = data.draw(st.sampled_from(FILES))
    header, body = split(file.read_bytes())
    document = json.loads(header["__metadata__"]["document"])
    places = {key: each["data_offsets"] for key, each in header.items() if key != "__metadata__"}
    name = data.draw(
        st.sampled_from([key for key, (start, stop) in places.items() if start < stop])
    )
    start, stop = places[name]
    at = data.draw(st.integers(start, stop - 1))
    body = body[:at] + bytes([data.draw(st.integers(0, 255))]) + body[at + 1 :]
    document["crc32"][name] = container.checksum(np.frombuffer(body[start:stop], np.uint8))
    loads_or_is_refused(
        tmp_path_factory.getbasetemp() / "fuzz.nestmap",
        signed(header, document, body),
        new_rows(file),
    )


@given(at=st.integers(0, 10**9), bit=st.integers(0, 7))
def test_any_flipped_bit_is_noticed(at: int, bit: int, good: bytes, tmp_path_factory: Any) -> None:
    (length,) = struct.unpack("<Q", good[:8])
    at %= len(good)
    if good[at : at + 1] == b" " and at < 8 + length:
        return  # the padding of the header means nothing
    data = bytearray(good)
    data[at] ^= 1 << bit
    path = tmp_path_factory.getbasetemp() / "fuzz.nestmap"
    path.write_bytes(bytes(data))
    with pytest.raises(ModelFileError):
        nestmap.load(path)


@given(length=st.integers(0, 10**9))
def test_any_cut_is_noticed(length: int, good: bytes, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzz.nestmap"
    path.write_bytes(good[: length % len(good)])
    with pytest.raises(ModelFileError):
        nestmap.load(path)


def test_names_are_names_and_no_paths(tmp_path: Path) -> None:
    """A file has no members that could be written anywhere; strange names are just names."""
    writer = Writer()
    writer.put("../../etc/passwd", np.arange(3))
    container.write_container(tmp_path / "c", "test", 1, {"a": 1}, writer.arrays)
    stored = container.read_container(tmp_path / "c", "test", 1)
    assert stored.document == {"a": 1} and [*stored.arrays] == ["../../etc/passwd"]
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_what_is_no_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        nestmap.load(tmp_path / "none")
    with pytest.raises(ModelFileError, match="not a regular file"):
        nestmap.load(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ModelFileError, match="not a regular file"):
            nestmap.load(tmp_path / "pipe")


# -- files that were written before
# -------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.nestmap")), ids=lambda path: path.stem)
def test_files_that_were_written_before_load(path: Path) -> None:
    """`make_models.py` wrote them, and what the models said then."""
    model, said = nestmap.load(path), np.load(path.with_suffix(".npz"))
    new = MADE[path.stem.partition("-")[2]][2]
    np.testing.assert_array_equal(model.labels_, said["labels"])
    np.testing.assert_array_equal(model.predict(new), said["predicted"])
    if isinstance(model, HNNE):  # other machines round differently
        np.testing.assert_allclose(
            model.transform(new), said["placed"], atol=1e-9 * np.ptp(model.embedding_)
        )
    if "membership" in said:
        np.testing.assert_array_equal(model.hierarchy_.membership(0), said["membership"])


def test_there_is_a_file_of_every_kind() -> None:
    names = {path.stem for path in FIXTURES.glob("*.nestmap")}
    assert names == {f"v{VERSION}-{name}" for name in MADE}
