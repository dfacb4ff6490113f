"""Selections that are kept beside a run, and rows as files: by the server, and from Python."""

# ruff: noqa: F401 (fixtures)

from __future__ import annotations

import csv
import http.client
import io
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from serving import N, X, ask, fitted, given_original, given_page, given_store

from nestmap import ModelFileError
from nestmap.views.explore.explorer import Explorer
from nestmap.views.explore.export_rows import Export, export_rows
from nestmap.views.explore.kept_rows import change_selections
from nestmap.views.explore.map_store import MapStore
from nestmap.views.explore.names import SavedNames
from nestmap.views.explore.query import RowQueries
from nestmap.views.explore.selections import (
    MOST_SELECTIONS,
    SavedSelections,
    Selection,
    clean_name,
)
from nestmap.views.explore.server import Server
from nestmap.views.explore.store import write_store

SOME = np.array([0, 3, 4, 399], dtype=np.uint32)
CLUSTER = {"kind": "cluster", "level": 1, "index": 1}


def own(rows: np.ndarray = SOME, store: str = "s") -> Selection:
    return Selection(rows, {"kind": "search", "query": "x"}, store)


@pytest.fixture(name="server")
def given_server(store: Path) -> Iterator[Server]:
    folder = store.parent
    saved = SavedSelections(folder / "selections.json")
    serving = Server(MapStore(store, SavedNames(folder / "names.json"), selections=saved))
    serving.start()
    yield serving
    serving.stop()


def post(server: Server, path: str, record: Any, **headers: str) -> tuple[int, bytes]:
    given = {"Origin": server.url[:-1], "Content_Type": "application/json", **headers}
    status, _, body = ask(server, path, "POST", record, **given)
    return status, body


def members(level: int, index: int, store: MapStore) -> list[int]:
    cluster = int(store.clusters(level)[index])
    return np.flatnonzero(fitted().hierarchy_.labels(level) == cluster).tolist()


# -- the file
# -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 5000])
def test_a_file_gives_back_what_was_kept(tmp_path: Path, n: int) -> None:
    rows = np.sort(np.random.default_rng(0).choice(2**32, n, replace=False)).astype(np.uint32)
    path = tmp_path / "selections.json"
    SavedSelections(path).keep("mine", own(rows))
    found = SavedSelections(path).read()["mine"]
    np.testing.assert_array_equal(found.rows, rows)
    assert found.rows.dtype == np.uint32 and found.chosen == own().chosen and found.store == "s"


def test_kept_replaced_and_deleted_in_order(tmp_path: Path) -> None:
    for path in (tmp_path / "selections.json", None):
        saved = SavedSelections(path)
        for name in ("a", "b", "c"):
            saved.keep(name, own())
        saved.keep("b", own(SOME[:1]))
        saved.keep("a", None)
        saved.keep("never there", None)
        found = saved.read()
        assert list(found) == ["b", "c"] and len(found["b"].rows) == 1


def test_two_explorers_keep_at_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "selections.json"
    saved = [SavedSelections(path) for _ in range(2)]
    threads = [
        threading.Thread(target=saved[i % 2].keep, args=(f"number {i}", own())) for i in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert set(saved[0].read()) == {f"number {i}" for i in range(12)}
    assert [p.name for p in tmp_path.iterdir() if p.suffix == ".part"] == []


@pytest.mark.parametrize(
    "change",
    [
        {"rows": "no base64!"},
        {"rows": "AAAA"},
        {"count": 3},
        {"count": -1},
        {"count": 2**40},
        {"store": 5},
        {"rows": None},
    ],
)
def test_a_damaged_file_says_which_one_it_is(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "selections.json"
    saved = SavedSelections(path)
    saved.keep("mine", own())
    record = json.loads(path.read_text())
    path.write_text(json.dumps({"mine": {**record["mine"], **change}}))
    with pytest.raises(ModelFileError, match=r"selections\.json.*delete it"):
        saved.read()
    with pytest.raises(ModelFileError):
        saved.keep("other", own())
    assert "other" not in path.read_text()  # what is there is not lost


def test_limits() -> None:
    saved = SavedSelections()
    for i in range(MOST_SELECTIONS):
        saved.keep(str(i), own())
    saved.keep("0", own())  # one of the same name
    with pytest.raises(ValueError, match="delete one first"):
        saved.keep("one more", own())
    assert clean_name(" two\nlines ") == "two lines"
    with pytest.raises(ValueError, match="needs a name"):
        clean_name("\x07 ")


# -- by the server
# -----------------------------------------------------------------------------------------------


def test_kept_shown_and_deleted_by_the_page(server: Server) -> None:
    assert json.loads(ask(server, "/api/selections")[2])["selections"] == []
    status, body = post(server, "/api/selections", {"name": " nice ones ", "set": CLUSTER})
    rows = members(1, 1, server.store)
    kept = [{"name": "nice ones", "count": len(rows)}]
    assert status == 200 and json.loads(body)["selections"] == kept
    told = json.loads(ask(server, "/api/selections")[2])
    assert told["selections"] == kept and told["can_save"] is True
    shown = json.loads(ask(server, "/api/selections?name=nice%20ones")[2])
    assert shown == {"set": CLUSTER}
    assert server.store.selections.read()["nice ones"].rows.tolist() == rows
    assert ask(server, "/api/selections?name=other")[0] == 404
    status, body = post(server, "/api/selections", {"name": "nice ones", "set": None})
    assert status == 200 and json.loads(body)["selections"] == []


def test_after_the_run_was_built_again_a_selection_is_its_rows(server: Server) -> None:
    post(server, "/api/selections", {"name": "mine", "set": CLUSTER})
    rows = members(1, 1, server.store)
    write_store(server.store.folder, fitted(), X, title="built again")
    shown = json.loads(ask(server, "/api/selections?name=mine")[2])["set"]
    assert shown["kind"] == "places"
    assert RowQueries(MapStore(server.store.folder)).rows_of(shown).tolist() == rows


def touch(store: Path) -> None:
    """As if it was built again."""
    os.utime(store / "meta.json.gz", (1, 1))


def test_rows_of_two_stores_are_not_kept(store: Path, tmp_path: Path) -> None:
    saved = SavedSelections(tmp_path / "selections.json")
    queries = RowQueries(MapStore(store))
    touch(store)
    with pytest.raises(ModelFileError, match="built again"):
        change_selections(saved, queries, {"name": "mine", "set": CLUSTER})
    assert saved.read() == {}


def test_who_may_keep(server: Server, store: Path) -> None:
    record = {"name": "mine", "set": CLUSTER}
    assert post(server, "/api/selections", record, Origin="http://evil.example")[0] == 403
    assert post(server, "/api/selections", record, Content_Type="text/plain")[0] == 415
    for bad in (
        {"name": "mine"},
        {"name": 3, "set": CLUSTER},
        {"name": "", "set": CLUSTER},
        {"name": "mine", "set": {"kind": "cluster", "level": 99, "index": 0}},
        {"name": "mine", "set": []},
        [],
    ):
        assert post(server, "/api/selections", bad)[0] == 400, bad
    assert not (store.parent / "selections.json").exists()
    read_only = Server(MapStore(store))
    read_only.start()
    status, body = post(read_only, "/api/selections", record)
    assert status == 400 and b"cannot be saved here" in body
    assert json.loads(ask(read_only, "/api/selections")[2])["can_save"] is False
    read_only.stop()


def test_from_python(tmp_path: Path) -> None:
    with fitted().explore() as page:
        server = page._server
        given = {"Origin": server.url.rpartition("/")[0].rpartition("/")[0]}
        status, _, _ = ask(
            server,
            f"/{server.token}/api/selections",
            "POST",
            {"name": "mine", "set": CLUSTER},
            Content_Type="application/json",
            **given,
        )
        assert status == 200
        found = page.selections
        assert found["mine"].tolist() == members(1, 1, server.store)
        assert isinstance(page, Explorer) and found["mine"].dtype == np.uint32


# -- rows as files
# -----------------------------------------------------------------------------------------------


def export(server: Server, **asked: Any) -> bytes:
    status, body = post(server, "/api/export", {"set": CLUSTER, "level": 1, **asked})
    assert status == 200, body
    return body


def test_row_numbers(server: Server) -> None:
    body = export(server, format="ids")
    assert np.loadtxt(io.BytesIO(body), dtype=int).tolist() == members(1, 1, server.store)


def test_csv(server: Server) -> None:
    rows = list(csv.DictReader(io.StringIO(export(server, format="csv").decode(), newline="")))
    name = server.store.names(1)[1]
    assert sorted(int(row["row"]) for row in rows) == members(1, 1, server.store)
    assert all(row["name"] == f"Name {row['row']} Ünï <b>" for row in rows)
    assert all(row["third"] == str(int(row["row"]) % 3) for row in rows)
    assert {row["cluster of level 1"] for row in rows} == {name}
    plain = export(server, format="csv", level=None).decode().splitlines()[0]
    assert "cluster" not in plain


def test_parquet(server: Server) -> None:
    table = pytest.importorskip("pyarrow.parquet").read_table(
        io.BytesIO(export(server, format="parquet"))
    )
    assert sorted(table["row"].to_pylist()) == members(1, 1, server.store)
    assert table["name"][0].as_py() == f"Name {table['row'][0].as_py()} Ünï <b>"


def test_parquet_keeps_times_and_large_whole_numbers(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    when = np.datetime64("2001-02-03T04:05:06") + np.arange(N) // 2
    large = 2**60 + np.arange(N) // 2
    share = np.where(np.arange(N) % 7 == 0, np.nan, np.arange(N) // 2 / 4)
    metadata = {"when": when, "large": large, "share": share}
    store = MapStore(write_store(tmp_path / "store", fitted(), metadata=metadata))
    asked = {"set": {"kind": "all", "of": []}, "format": "parquet", "level": None}
    body = b"".join(export_rows(RowQueries(store), asked).blocks)
    table = parquet.read_table(io.BytesIO(body))
    rows = table["row"].to_numpy()
    assert table["when"].to_pylist() == when[rows].astype(str).tolist()
    assert [int(value) for value in table["large"].to_pylist()] == large[rows].tolist()
    np.testing.assert_array_equal(table["share"].to_numpy(), share[rows])


def test_no_value_is_a_formula(tmp_path: Path) -> None:
    names = ["=1+1", "+2", "-3", "@x", *(f"plain {i}, and" for i in range(4, N))]
    metadata = {"=cmd()": np.arange(N) % 3}
    store = write_store(tmp_path / "store", fitted(), names=names, metadata=metadata)
    serving = Server(MapStore(store))
    serving.start()
    body = export(serving, set={"kind": "all", "of": []}, format="csv").decode()
    serving.stop()
    rows = {int(row["row"]): row["name"] for row in csv.DictReader(io.StringIO(body, newline=""))}
    assert body.splitlines()[0] == "row,name,'=cmd(),cluster of level 1"
    assert [rows[i] for i in range(5)] == ["'=1+1", "'+2", "'-3", "'@x", "plain 4, and"]
    assert len(rows) == N


def test_a_file_of_two_stores_is_cut_off(
    server: Server, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def blocks() -> Iterator[bytes]:
        yield b"of one store"
        touch(store)
        yield b"of another"

    monkeypatch.setattr(
        "nestmap.views.explore.handler.export_rows", lambda *_: Export("csv", blocks())
    )
    with pytest.raises(http.client.IncompleteRead) as error:
        export(server, format="csv")
    assert error.value.partial == b"of one store"


def test_what_cannot_be_exported_is_said(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    every = {"kind": "all", "of": []}
    for asked, why in (
        ({"set": every, "format": "xls", "level": None}, b"format"),
        ({"set": every, "format": "csv", "level": 99}, b"level"),
        ({"set": {"kind": "what"}, "format": "csv", "level": None}, b""),
        ({"set": every, "format": "csv"}, b"expected"),
    ):
        status, body = post(server, "/api/export", asked)
        assert status == 400 and why in body, asked
    monkeypatch.setattr("nestmap.views.explore.export_rows.MOST_ROWS", 10)
    status, body = post(server, "/api/export", {"set": every, "format": "csv", "level": None})
    assert status == 400 and b"select fewer" in body
    monkeypatch.setattr("nestmap.views.explore.export_rows.has_parquet", lambda: False)
    status, body = post(server, "/api/export", {"set": CLUSTER, "format": "parquet", "level": 0})
    assert status == 400 and b"pip install" in body
