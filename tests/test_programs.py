"""Maps for programs: the JSON API of the explorer's server, and `nestmap mcp`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from conftest import LIMIT
from serving import N, X, ask, fitted, given_original, given_page, given_server, given_store

from nestmap.app.cli import main
from nestmap.errors import ModelFileError
from nestmap.views.explore.choices import as_conditions, read_conditions
from nestmap.views.explore.map_store import MapStore
from nestmap.views.explore.mcp import HANDSHAKES, STATELESS, answer_line
from nestmap.views.explore.query import RowQueries
from nestmap.views.explore.questions import QUESTIONS, answer
from nestmap.views.explore.server import Server

_ = (given_original, given_page, given_server, given_store)


def get(server: Server, path: str) -> Any:
    status, headers, body = ask(server, f"/api/v1/{path}")
    assert status == 200 and headers["content-type"] == "application/json", body
    assert headers["cache-control"] == "no-store"
    return json.loads(body)


# -- the JSON API
# -------------------------------------------------------------------------------------------------


def test_levels_are_those_of_the_model(server: Server) -> None:
    told = get(server, "levels")
    tree = fitted().hierarchy_
    assert told["n_rows"] == N and told["label_level"] == fitted().label_level_
    assert [each["n_clusters"] for each in told["levels"]] == [*tree.level_sizes]
    assert [each["name"] for each in told["columns"]] == ["third", "membership"]
    assert told["fields"] == ["row", "name", "third"]


def test_clusters_hold_the_rows_that_the_model_says(server: Server) -> None:
    """On every level: cluster, size, and each single row, page by page."""
    tree = fitted().hierarchy_
    for level in range(tree.n_levels):
        labels = tree.labels(level)
        found = []
        begin: int | None = 0
        while begin is not None:
            told = get(server, f"clusters?level={level}&limit=7&offset={begin}")
            found += told["clusters"]
            begin = told["next"]
        assert sorted(each["cluster"] for each in found) == [*range(tree.level_sizes[level])]
        for each in found[:3]:
            rows = get(server, f"rows?cluster={each['id']}&limit=100")
            assert rows["total"] == each["n_rows"] == np.sum(labels == each["cluster"])
            assert all(labels[row[0]] == each["cluster"] for row in rows["rows"])


def test_a_cluster_and_its_family(server: Server) -> None:
    top = len(get(server, "levels")["levels"]) - 1
    one = get(server, f"cluster?id={top}.0")
    assert one["parent"] is None and one["level"] == top and 0 < one["share"] <= 1
    below = get(server, f"clusters?below={top}.0&limit=500")
    assert below["level"] == top - 1 and below["total"] == one["n_children"]
    assert below["clusters"][: len(one["children"])] == one["children"]
    assert sum(each["n_rows"] for each in below["clusters"]) == one["n_rows"]
    child = get(server, f"cluster?id={one['children'][0]['id']}")
    assert child["parent"]["id"] == one["id"]
    labels = fitted().hierarchy_.labels(top)
    assert one["typical"] and all(
        labels[each["row"]] == one["cluster"] and each["label"].startswith(f"Name {each['row']} ")
        for each in one["typical"]
    )
    counts = np.bincount((np.arange(N) % 3)[labels == one["cluster"]])
    assert counts[int(one["columns"]["third"])] == counts.max()


def test_search_rows_and_compare(server: Server) -> None:
    told = get(server, f"search?query={quote('NAME 39')}&limit=5")
    assert told["total"] == 11 and len(told["rows"]) == 5 and told["is_complete"]
    row = told["rows"][0]
    labels = fitted().labels_
    assert get(server, f"cluster?id={row['cluster']}")["cluster"] == labels[row["row"]]
    rows = get(server, "rows?numbers=17,3")
    assert [each[0] for each in rows["rows"]] == [17, 3] and rows["next"] is None
    level = get(server, "levels")["label_level"]
    told = get(server, f"compare?a={level}.0&b={level}.1")
    assert told["relation"] == "no row is in both" and set(told["columns"]["third"]) == {"a", "b"}
    assert told["a"]["name"] == get(server, f"cluster?id={level}.0")["name"]
    child = get(server, f"cluster?id={level}.0")["children"][0]["id"]
    assert get(server, f"compare?a={child}&b={level}.0")["relation"] == "a is inside b"
    assert get(server, f"compare?a={level}.0&b={child}")["relation"] == "b is inside a"


def test_rows_are_chosen_by_values_texts_and_clusters_together(server: Server) -> None:
    third = np.arange(N) % 3
    labels = fitted().labels_
    where = quote(json.dumps({"third": ["2"]}))
    told = get(server, f"rows?where={where}&sort=-row&limit=3")
    assert [row[0] for row in told["rows"]] == np.flatnonzero(third == 2)[::-1][:3].tolist()
    assert told["total"] == np.sum(third == 2) and told["next"] == 3
    level = get(server, "levels")["label_level"]
    own = get(server, f"cluster?id={level}.1")["cluster"]
    told = get(server, f"rows?where={where}&cluster={level}.1&query=name&limit=100&sort=row")
    wanted = np.flatnonzero((third == 2) & (labels == own))
    assert [row[0] for row in told["rows"]] == wanted.tolist()
    told = get(server, f"summary?where={where}&cluster={level}.1")
    assert told["n_rows"] == len(wanted) and told["share"] == len(wanted) / N
    (cluster,) = told["clusters"]
    assert cluster["id"] == f"{level}.1" and cluster["of_these"] == len(wanted)
    assert {row["row"] for row in told["typical"]} <= {*wanted.tolist()} and told["traits"]


@pytest.mark.parametrize(
    "path, words",
    (
        ("clusters?level=99", "there are levels 0"),
        ("clusters?levl=1", "did you mean 'level'"),
        ("clusters?level=0&level=1", "given 2 times"),
        ("clusters?level=one", "0 is the finest"),
        ("clusters?limit=501", "from 1 to 500"),
        ("clusters?below=0.0", "level 0 is the finest"),
        ("clusters?below=1.0&level=0", "give one of them"),
        ("cluster", "cluster needs id"),
        ("cluster?id=3", "an id is LEVEL.INDEX"),
        ("cluster?id=0.999999", "level 0 has clusters"),
        ("rows?numbers=400", "there are rows 0 to 399"),
        ("rows?numbers=" + ",".join("1" * 101), "at most 100"),
        ("rows?numbers=1&cluster=0.0", "without cluster"),
        ("rows?where=3", "by name of the column"),
        ("rows?where=" + quote('{"thrd": []}'), "did you mean 'third'"),
        ("rows?where=" + quote('{"third": ["7"]}'), "no category '7'"),
        ("rows?where=" + quote(f'{{"membership": [1{"0" * 400}, 1]}}'), "(low, high)"),
        ("rows?where=" + quote('{"membership": [[0], [1]]}'), "(low, high)"),
        ("rows?sort=thrd", "no such column"),
        ("search?query=" + "x" * 501, "at most 500 letters"),
        ("compare?a=0.0", "compare needs b"),
    ),
)
def test_wrong_questions_are_answered_in_words(server: Server, path: str, words: str) -> None:
    status, headers, body = ask(server, f"/api/v1/{path}")
    assert status == 400 and headers["content-type"] == "application/json"
    assert words in json.loads(body)["error"]


def test_the_api_is_read_only_and_behind_what_guards_the_page(store: Path) -> None:
    server = Server(MapStore(store), token=True)
    server.start()
    try:
        assert ask(server, "/api/v1/levels")[0] == 403
        path = f"/{server.token}/api/v1/"
        assert ask(server, path + "levels", host="example.org")[0] == 403
        assert ask(server, path + "levels?v=other")[0] == 409
        assert ask(server, path + "levels?v=" + server.store.id)[0] == 200
        assert ask(server, path + "nothing")[0] == 404
        assert ask(server, path + "levels", "POST", {})[0] == 404
        told = json.loads(ask(server, path)[2])
        assert told["version"] == 1 and [q["name"] for q in told["questions"]] == [*QUESTIONS]
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("site", "status"),
    [("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)],
)
def test_pages_of_others_do_not_keep_it_busy(server: Server, site: str, status: int) -> None:
    assert ask(server, "/api/v1/levels", Sec_Fetch_Site=site)[0] == status
    assert ask(server, "/api/search?q=1", Sec_Fetch_Site=site)[0] == status
    assert ask(server, "/", Sec_Fetch_Site=site)[0] == 200  # by a link to it


def test_answers_are_bounded(tmp_path: Path) -> None:
    from nestmap.views.explore.store import write_store

    texts = {f"text {k}": [f"{i} " + "x" * 290 for i in range(N)] for k in range(5)}
    store = RowQueries(MapStore(write_store(tmp_path / "store", fitted(), metadata=texts)))
    found: list[int] = []
    begin = 0
    while len(found) < 100:
        told = answer(store, "rows", {"limit": 100, "offset": begin})
        assert len(json.dumps(told)) < 100_000
        assert told["next"] == begin + len(told["rows"]) and len(told["rows"]) < 100
        found += [row[0] for row in told["rows"]]
        begin = told["next"]
    assert len({*found}) == len(found)


def test_a_damaged_store_is_told(store: Path) -> None:
    opened = MapStore(store)
    (store / "panels" / "0" / "0.json.gz").unlink()
    with pytest.raises(ModelFileError, match="panels/0/0"):
        answer(RowQueries(opened), "cluster", {"id": "0.0"})


def test_a_column_may_be_called_as_a_level_is() -> None:
    columns = [{"name": "level.1", "key": "c0", "kind": "number"}]
    asked = {"level.1": (2, 3), "level.0": ["0.4"]}
    wire = as_conditions(columns, asked)
    assert [key for key, _ in wire] == ["c0", "level.0"]
    assert read_conditions(columns, wire) == asked


# -- assistants
# -------------------------------------------------------------------------------------------------


def say(store: MapStore, method: str, params: Any = None, id: Any = 1) -> Any:
    message = {"jsonrpc": "2.0", "id": id, "method": method}
    line = answer_line(
        json.dumps(message | ({} if params is None else {"params": params})).encode(),
        lambda: RowQueries(store),
    )
    assert line is not None and b"\n" not in line
    told = json.loads(line)
    assert told["jsonrpc"] == "2.0" and told["id"] == id
    return told


@pytest.mark.parametrize("version", (*HANDSHAKES, "1999-01-01"))
def test_the_handshake(store: Path, version: str) -> None:
    told = say(MapStore(store), "initialize", {"protocolVersion": version})["result"]
    assert told["protocolVersion"] == (version if version in HANDSHAKES else HANDSHAKES[-1])
    assert told["capabilities"] == {"tools": {}} and "no instruction" in told["instructions"]


def test_requests_that_name_their_version(store: Path) -> None:
    key = "io.modelcontextprotocol/protocolVersion"
    told = say(MapStore(store), "server/discover", {"_meta": {key: STATELESS[-1]}})["result"]
    assert STATELESS[-1] in told["supportedVersions"] and told["resultType"] == "complete"
    told = say(MapStore(store), "tools/list", {"_meta": {key: "2999-01-01"}})["error"]
    assert told["code"] == -32022 and told["data"]["supported"][0] == STATELESS[-1]


def test_tools_answer_as_the_api_does(store: Path) -> None:
    opened = MapStore(store)
    tools = say(opened, "tools/list")["result"]["tools"]
    assert [tool["name"] for tool in tools] == [*QUESTIONS]
    assert all(tool["annotations"]["readOnlyHint"] for tool in tools)
    call = {"name": "clusters", "arguments": {"level": -1}}
    told = say(opened, "tools/call", call)["result"]
    assert not told["isError"]
    record = json.loads(told["content"][0]["text"])
    assert record["answer"] == answer(RowQueries(opened), "clusters", {"level": -1})
    assert "no instructions" in record["about"]


NAN_ID = b'{"jsonrpc": "2.0", "id": NaN, "method": "ping"}'  # no JSON, though Python reads it


def test_wrong_calls(store: Path) -> None:
    opened = MapStore(store)
    told = say(opened, "tools/call", {"name": "cluster", "arguments": {"id": "9.9"}})["result"]
    assert told["isError"] and "there are levels 0" in told["content"][0]["text"]
    for params, code in (
        ({"name": "drop"}, -32602),
        ({"name": []}, -32602),
        ({"name": "rows", "arguments": 3}, -32602),
    ):
        assert say(opened, "tools/call", params)["error"]["code"] == code
    assert say(opened, "resources/list")["error"]["code"] == -32601
    assert say(opened, "ping", id="a")["result"] == {}
    for line, code in ((b"{", -32700), (b"[]", -32600), (b"[" * 100_000, -32700), (NAN_ID, -32700)):
        told = json.loads(answer_line(line, lambda: RowQueries(opened)) or b"")
        assert told["error"]["code"] == code and told["id"] is None
    notified = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert answer_line(json.dumps(notified).encode(), lambda: RowQueries(opened)) is None


def test_an_answer_of_two_stores_is_none(store: Path) -> None:
    opened = MapStore(store)
    os.utime(store / "meta.json.gz", (1, 1))
    told = say(opened, "tools/call", {"name": "levels"})["result"]
    assert told["isError"] and "ask again" in told["content"][0]["text"]


@pytest.fixture(name="run", scope="module")
def given_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    lines = [",".join(["who", *(f"p{k}" for k in range(X.shape[1]))])]
    lines += [",".join([f"digit {i}", *map(str, row.tolist())]) for i, row in enumerate(X[:200])]
    (folder / "data.csv").write_text("\n".join(lines) + "\n")
    arguments = ["fit", str(folder / "data.csv"), "-o", str(folder / "run"), "--id", "who"]
    assert main([*arguments, "--quiet"]) == 0
    return folder / "run"


@pytest.mark.slow
def test_the_command_speaks_lines_and_nothing_else(run: Path) -> None:
    asked = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "levels"}},
    ]
    lines = "\n".join(map(json.dumps, asked)) + "\n" + "x" * 1_500_000 + "\n"
    done = subprocess.run(
        [sys.executable, "-m", "nestmap", "mcp", str(run)],
        input=lines + json.dumps({**asked[2], "id": 3}),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    assert [each["id"] for each in told] == [1, 2, None, 3]
    for each in (told[1], told[3]):
        assert json.loads(each["result"]["content"][0]["text"])["answer"]["n_rows"] == 200
    assert main(["mcp", str(run / "nowhere"), "--quiet"]) == 3


@pytest.mark.slow
@pytest.mark.parametrize("mode", ("legacy", "auto"))
def test_the_client_of_the_protocol_itself(run: Path, mode: str) -> None:
    """With both ways to begin, in the client that the protocol's own package has."""
    mcp = pytest.importorskip("mcp")
    anyio = pytest.importorskip("anyio")

    async def talk() -> None:
        command = mcp.StdioServerParameters(
            command=sys.executable, args=["-m", "nestmap", "mcp", str(run), "--quiet"]
        )
        with anyio.fail_after(LIMIT):
            async with mcp.Client(command, mode=mode) as client:
                tools = (await client.list_tools()).tools
                assert [tool.name for tool in tools] == [*QUESTIONS]
                told = await client.call_tool("search", {"query": "17"})
                record = json.loads(told.content[0].text)["answer"]
                assert record["rows"][0]["label"] == "digit 17" and not told.is_error
                told = await client.call_tool("cluster", {"id": "no"})
                assert told.is_error and "LEVEL.INDEX" in told.content[0].text

    anyio.run(talk)
