"""Questions about sets of rows, as they come over the network."""

# ruff: noqa: F401 (fixtures)

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from serving import (
    N,
    X,
    ask,
    fitted,
    given_original,
    given_page,
    given_server,
    given_store,
    raw,
)  # fixtures

from nestmap import HNNE, ModelFileError
from nestmap.views.explore.map_store import MapStore
from nestmap.views.explore.order import ROWS, TreeOrder
from nestmap.views.explore.query import RowQueries
from nestmap.views.explore.server import Server
from nestmap.views.explore.store import write_store

EVERY = {"kind": "all", "of": []}
THIRD = {"kind": "categories", "column": "c0", "codes": [1]}


def post(server: Server, name: str, asked: Any, **headers: str) -> tuple[int, bytes]:
    own = {"Origin": server.url[:-1], "Content_Type": "application/json", **headers}
    status, got, body = ask(server, f"/api/rows/{name}", "POST", asked, **own)
    assert got["cache-control"] == "no-store" and "content-security-policy" in got
    return status, body


def test_answers(server: Server) -> None:
    queries = RowQueries(server.store)
    places = queries.places(THIRD)
    assert len(places) == (np.arange(N) % 3 == 1).sum()
    status, body = post(server, "charts", {"set": THIRD, "columns": ["c0", "m0"]})
    assert status == 200 and json.loads(body) == queries.charts(THIRD, ["c0", "m0"])
    status, body = post(server, "marks", {"set": THIRD, "level": -1, "begin": 3, "end": N})
    bits = np.unpackbits(np.frombuffer(body, np.uint8), bitorder="little")[: N - 3]
    assert status == 200 and (np.flatnonzero(bits) + 3).tolist() == places[places >= 3].tolist()
    status, body = post(server, "marks", {"set": THIRD, "level": 1, "begin": 0, "end": 2})
    assert np.frombuffer(body, "<u4").tolist() == queries.marks(THIRD, 1, 0, 2).tolist()
    order = {"column": "m0", "descending": True}
    status, body = post(server, "page", {"set": THIRD, "order": order, "offset": 2, "limit": 5})
    total, *found = np.frombuffer(body, "<u4").tolist()
    wanted = queries.page(THIRD, "m0", True, 2, 5)
    assert (total, found) == (wanted.total, wanted.places.tolist()) and len(found) == 5
    status, body = post(server, "ranges", {"set": EVERY, "most": 1})
    assert np.frombuffer(body, "<u4").tolist() == [1, 0, N]
    status, body = post(server, "ranges", {"set": THIRD, "most": 1})
    assert np.frombuffer(body, "<u4").tolist() == [0]
    status, body = post(server, "summary", {"set": THIRD, "other": EVERY})
    assert json.loads(body) == queries.summary(THIRD, EVERY)
    assert json.loads(body)["traits"][0] == "third=1 100% (all 33%)"


@pytest.mark.parametrize(
    ("name", "asked", "why"),
    [
        ("charts", {"set": EVERY}, "takes an object with the fields columns, set"),
        ("charts", [EVERY], "takes an object"),
        ("charts", None, "takes an object"),
        ("charts", {"set": EVERY, "columns": ["nope"]}, "none with the key 'nope'"),
        ("charts", {"set": EVERY, "columns": [["c0"]]}, "none with the key a list of 1"),
        ("charts", {"set": {"kind": "odd"}, "columns": []}, "kind: one of all"),
        ("marks", {"set": EVERY, "level": 99, "begin": 0, "end": 1}, "level: -1 for rows"),
        ("marks", {"set": EVERY, "level": True, "begin": 0, "end": 1}, "level: -1 for rows"),
        ("marks", {"set": EVERY, "level": 0, "begin": 0, "end": 10**30}, "begin, end"),
        ("page", {"set": EVERY, "order": None, "offset": 0, "limit": 1}, "order: an object"),
        (
            "page",
            {"set": EVERY, "order": {"column": 1, "descending": 0}, "offset": 0, "limit": 1},
            "none with the key 1",
        ),
        ("ranges", {"set": EVERY, "most": -1}, "most: a whole number"),
        ("ranges", {"set": EVERY, "most": "many"}, "most: a whole number"),
        ("summary", {"set": EVERY, "other": 5}, "a set is an object"),
    ],
)
def test_nonsense_is_refused_in_words(server: Server, name: str, asked: Any, why: str) -> None:
    status, body = post(server, name, b"null" if asked is None else asked)
    assert status == 400 and why in body.decode()


def test_hostile_json_is_refused(server: Server) -> None:
    nested = b'{"kind":"not","of":' * 50_000
    for body in (
        b'{"set":' + nested, b"[" * 100_000, b'{"set": NaN', b"\xff\xfe", b"", b"9" * 10_000,
        b'{"set":{"kind":"range","column":"m0","low":NaN,"high":1},"columns":[]}',
        b'{"set":{"kind":"range","column":"m0","low":0,"high":1e999},"columns":[]}',
        b'{"set":' + b'{"kind":"not","of":' * 40 + b'{"kind":"all","of":[]}' + b"}" * 41
        + b',"columns":[]}',
    ):  # fmt: skip
        status, told = post(server, "charts", body)
        assert status == 400 and len(told) < 300, body[:60]
    status, told = post(server, "charts", b"", Content_Length="8000001")
    assert status == 413


def test_only_the_own_page_may_ask(server: Server) -> None:
    asked = {"set": EVERY, "columns": []}
    assert post(server, "charts", asked)[0] == 200
    assert post(server, "charts", asked, Origin="http://evil.example")[0] == 403
    assert post(server, "charts", asked, Origin="")[0] == 403
    assert post(server, "charts", asked, Sec_Fetch_Site="cross-site")[0] == 403
    assert post(server, "charts", asked, Content_Type="text/plain")[0] == 415
    assert post(server, "charts", asked, host="evil.example")[0] == 403
    assert post(server, "nothing", asked)[0] == 404
    assert ask(server, "/api/rows/charts")[0] == 404
    own = {"Origin": server.url[:-1], "Content_Type": "application/json"}
    assert ask(server, "/api/rows/charts?v=old", "POST", asked, **own)[0] == 409
    assert ask(server, "/data/columns/c0/bins.bin")[0] == 404
    with_token = Server(server.store, token=True)
    with_token.start()
    try:
        assert ask(with_token, "/api/rows/charts", "POST", asked, **own)[0] == 403
    finally:
        with_token.stop()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def fill(path: Path) -> None:
    path.write_bytes(b"\xff" * path.stat().st_size)


@pytest.mark.parametrize("damage", [cut, fill, Path.unlink])
@pytest.mark.parametrize(
    ("file", "name", "asked"),
    [
        ("m0/bins.bin", "charts", {"set": THIRD, "columns": ["m0"]}),
        ("c0/bins.bin", "charts", {"set": THIRD, "columns": []}),
        (
            "m0/order.bin",
            "page",
            {
                "set": THIRD,
                "order": {"column": "m0", "descending": False},
                "offset": 0,
                "limit": 3,
            },
        ),
        ("tree/1.bin", "marks", {"set": THIRD, "level": 1, "begin": 0, "end": 2}),
        (
            "m0/values.bin",
            "charts",
            {"set": {"kind": "range", "column": "m0", "low": 0, "high": 1}, "columns": []},
        ),
    ],
)
def test_damaged_files_are_named(
    server: Server, store: Path, damage: Callable[[Path], None], file: str, name: str, asked: Any
) -> None:
    """Or, where any bytes would be sound, they are taken as they are."""
    damage(store / "columns" / file)
    status, body = post(server, name, asked)
    if damage is fill and file.endswith(("bins.bin", "values.bin")):
        assert status == 200
    else:
        assert status == 500 and f"columns/{file}" in body.decode()


def test_a_damaged_list_of_columns_is_named(store: Path) -> None:
    import gzip

    listed = json.loads(gzip.decompress((store / "columns.json.gz").read_bytes()))
    for change in (
        {"key": 3}, {"kind": "odd"}, {"dtype": "O"}, {"bins": []}, {"bins": ["a"]}, {"missing": None},
    ):  # fmt: skip
        packed = gzip.compress(json.dumps([{**listed[0], **change}]).encode())
        (store / "columns.json.gz").write_bytes(packed)
        with pytest.raises(ModelFileError, match=r"columns.json is damaged"):
            RowQueries(MapStore(store))


def test_answers_follow_a_store_that_is_built_again(server: Server, store: Path) -> None:
    asked = {"set": EVERY, "columns": []}
    assert json.loads(post(server, "charts", asked)[1])["count"] == N
    first = server.shown.queries
    write_store(store, fitted(), metadata={"half": np.arange(N) % 2})
    half = {"set": {"kind": "categories", "column": "c0", "codes": [1]}, "columns": ["c0"]}
    told = json.loads(post(server, "charts", half)[1])
    assert told["charts"][0]["counts"] == [0, N // 2]
    assert server.shown.queries is not first


def test_columns_that_were_mapped_are_filters_and_colours(tmp_path: Path) -> None:
    """Their files of colours are made when the page asks for them."""
    frame = pd.DataFrame(X[:, :6], columns=["a", "b", "c", "d", "e", "f"])
    model = HNNE().fit(frame)
    store = MapStore(write_store(tmp_path / "store", model, frame))
    assert [each["key"] for each in store.meta["columns"]] == ["m0"]
    server = Server(store)
    server.start()
    try:
        listed = json.loads(ask(server, "/data/columns.json")[2])
        mapped = [each["key"] for each in listed if each.get("mapped")]
        assert mapped == [f"f{i}" for i in range(6)]
        tree = TreeOrder.of(model.hierarchy_)
        values = frame["e"].to_numpy()[tree.rows]
        high = {"kind": "range", "column": "f4", "low": 5, "high": 99}
        told = json.loads(post(server, "charts", {"set": high, "columns": ["f4"]})[1])
        assert told["count"] == (values >= 5).sum() == sum(told["charts"][0]["counts"])
        for level in ("rows", "0", str(tree.n_levels - 1)):
            status, headers, body = ask(server, f"/data/colors/f4/{level}/0.bin")
            starts = tree.starts(ROWS if level == "rows" else int(level))
            wanted = np.add.reduceat(values, starts[:-1]) / np.diff(starts)
            got = np.frombuffer(body, "<f4")
            assert status == 200 and np.array_equal(got, wanted.astype(np.float32))
            assert "immutable" not in headers["cache-control"]
        for name in ("f9/rows/0", "f4/99/0", "f4/rows/9", "row/rows/0", "f4/rows/00000000"):
            assert ask(server, f"/data/colors/{name}.bin")[0] == 404
    finally:
        server.stop()
