"""`nestmap describe`, and `--namer`: what is sent, what stays where a server fails, what goes on."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from chatting import ChatServer, Exchange, chat_server, name_of, well
from conftest import LIMIT, heed_ctrl_c

from nestmap.app.cli import main
from nestmap.app.cli import namer as namer_module
from nestmap.app.naming import chat as chat_module
from nestmap.app.runs.evidence import Evidence, LevelEvidence
from nestmap.app.runs.folder import RunFolder
from nestmap.app.runs.model_names import ANSWERS, FILE, read_model_names
from nestmap.views.explore.names import SavedNames

TOPICS = ("coats of wool and fur", "ships that sail the sea", "bread and cake to bake")
N = 240


@pytest.fixture(autouse=True)
def given_no_key_and_short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NESTMAP_NAMER_KEY", raising=False)
    monkeypatch.setattr(chat_module, "_FIRST_PAUSE_SECONDS", 0.001)


@pytest.fixture(name="folder")
def given_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Rows in three far groups of small ones, with texts that tell the groups apart."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "data.csv", N)
    return tmp_path


def write(path: Path, n: int) -> None:
    rng = np.random.default_rng(0)
    lines = ["x,y,z,kind,body,secret"]
    for i in range(n):
        topic = i % 3
        x, y, z = rng.normal(0, 0.2, 3) + np.array([9 * topic, 3 * (i // 3 % 4), 0])
        lines.append(f"{x:.4f},{y:.4f},{z:.4f},k{topic},{TOPICS[topic]} no. {i},private {i}")
    path.write_text("\n".join(lines) + "\n")


FIT = ("fit", "data.csv", "-o", "run", "--columns", "x,y,z", "--label", "kind")


def asking(server: ChatServer, model: str = "llama3") -> tuple[str, ...]:
    return ("--namer", server.url, "--namer-model", model)


def done(*arguments: str, code: int = 0) -> None:
    assert main([*arguments]) == code


def is_named(names: dict[int, list[str]]) -> bool:
    """Whether all names are the server's."""
    return all(name.startswith("name ") for own in names.values() for name in own)


def n_to_name(run: str = "run") -> int:
    return sum(level["clusters"] for level in RunFolder(run).record["levels"])


def test_a_fit_with_a_namer_says_what_goes_where_before_it_goes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said_before: list[str] = []

    def listens(exchange: Exchange, n: int) -> None:
        if n == 1:
            said_before.append(capsys.readouterr().err)
        well(exchange, n)

    with chat_server(listens) as server:
        done(*FIT, *asking(server))
        n = n_to_name()
        (said,) = said_before
        assert f"sends up to {n} prompts, one per cluster, to {server.url}/v1/chat" in said
        assert "(model llama3)" in said and "columns kind" in said
        assert not any("private" in each or "no. 7" in each for each in server.prompts)
    run = RunFolder("run")
    assert is_named(run.names()) and not is_named(run.built_in_names())
    assert all(len({*own}) == len(own) for own in run.names().values())
    assert run.built_in_names()[0] != run.names()[0]
    assert run.record["largest"][0]["name"].startswith("name ")
    assert run.record["tree"][0]["children"][0]["name"].startswith("name ")
    assert f"{n} of {n} clusters are named" in capsys.readouterr().err


def test_texts_are_sent_where_they_were_read_as_texts(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with chat_server() as server:
        done("fit", "data.csv", "-o", "run", "--texts", "body", *asking(server))
        said = capsys.readouterr().err
        assert "up to 8 texts of column body (the first 300 letters)" in said
        assert any("- coats of wool and fur no. " in each for each in server.prompts)
        assert all(each.count("no. ") <= 8 for each in server.prompts)
        assert not any("private" in each for each in server.prompts)


def test_names_are_asked_for_later_and_taken_back(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done(*FIT, "--quiet")
    built_in = RunFolder("run").names()
    assert not (folder / "run" / FILE).exists() and not (folder / "run" / ANSWERS).exists()
    done("describe", "run", "--json")
    before = json.loads(capsys.readouterr().out)
    with chat_server() as server:
        done("describe", "run", *asking(server), "--json")
        after = json.loads(capsys.readouterr().out)
        prompts = {*server.prompts}
        n_asked = len(server.asked)
        done("fit", "data.csv", "-o", "run2", *FIT[4:], *asking(server), "--quiet")
        assert {*server.prompts} == prompts and len(server.asked) > n_asked
        n_asked = len(server.asked)
        done("describe", "run", *asking(server), "--quiet")
        assert len(server.asked) == n_asked  # all answers are kept
    assert [c["name"] for c in before["clusters"]] == built_in[before["level"]]
    assert all(c["name"].startswith("name ") for c in after["clusters"])
    assert [c["evidence"] for c in after["clusters"]] == [c["evidence"] for c in before["clusters"]]
    assert any("kind=k1" in text for c in after["clusters"] for text in c["evidence"])
    assert RunFolder("run").names() == RunFolder("run2").names()
    done("describe", "run", "--namer", "none", "--quiet")
    assert RunFolder("run").names() == built_in
    assert RunFolder("run").record["largest"][0]["name"] in built_in[before["level"]]


def test_names_reach_plot_export_and_explorer(folder: Path) -> None:
    from nestmap.app.runs.store import open_store

    done(*FIT, "--quiet")
    first = open_store(RunFolder("run"))
    with chat_server() as server:
        done("describe", "run", *asking(server), "--quiet")
    done("export", "run", "-o", "out.csv", "--quiet")
    named = RunFolder("run").names()
    assert named[0][0] in (folder / "out.csv").read_text()
    second = open_store(RunFolder("run"))
    assert first.meta["source"] != second.meta["source"]


def test_names_that_people_typed_win(folder: Path) -> None:
    done(*FIT, "--quiet")
    top = len(RunFolder("run").record["levels"]) - 1
    SavedNames(folder / "run" / "names.json").set(top, 0, "What I call it")
    SavedNames(folder / "run" / "names.json").set(0, 1, "My leaf")
    with chat_server() as server:
        done("describe", "run", *asking(server), "--quiet")
        assert len({*server.prompts}) <= n_to_name() - 2
        assert any(
            "It consists of groups that are named:" in p and "- My leaf" in p
            for p in server.prompts
        )
        assert any("are taken:\n- What I call it" in p for p in server.prompts)
    found = read_model_names(folder / "run")
    assert found and 0 not in found.names[top] and 1 not in found.names[0]
    assert SavedNames(folder / "run" / "names.json").read()[top] == {0: "What I call it"}


def html(exchange: Exchange, n: int) -> None:
    exchange.send(b"<html>", kind="text/html")


def refuses(exchange: Exchange, n: int) -> None:
    exchange.send(b'{"error": "no such model"}', 404)


def resets(exchange: Exchange, n: int) -> None:
    exchange.reset()


@pytest.mark.parametrize("behave", [html, refuses, resets])
def test_a_server_that_fails_does_not_cost_the_fit(
    behave: Callable[[Exchange, int], None], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with chat_server(behave) as server:
        done(*FIT, *asking(server), "--plot", "map.png", "--quiet")
        said = capsys.readouterr().err
        assert f"nestmap: {server.url}/v1/chat/completions" in said
        assert "0 of " in said and "keep the built-in name" in said
        goes_on = f"`nestmap describe run --namer {server.url} --namer-model llama3` goes on"
        assert goes_on in said
        run = RunFolder("run")
        assert run.names() == run.built_in_names() and (folder / "map.png").exists()
        done("describe", "run", *asking(server), "--quiet", code=3)
        assert goes_on in capsys.readouterr().err
        server.behave = well
        done("describe", "run", *asking(server), "--quiet")
    assert RunFolder("run").names()[0][0].startswith("name ")


def test_what_was_got_before_a_server_failed_stays_and_the_next_goes_on(folder: Path) -> None:
    done(*FIT, "--quiet")
    with chat_server(lambda e, n: well(e, n) if n <= 5 else refuses(e, n)) as server:
        done("describe", "run", *asking(server), "--quiet", code=3)
        some = RunFolder("run").names()
        n_named = sum(name.startswith("name ") for own in some.values() for name in own)
        assert 1 <= n_named <= 6
        n_asked = len(server.asked)
        server.behave = well
        done("describe", "run", *asking(server), "--quiet")
        assert not {*server.prompts[:5]} & {*server.prompts[n_asked:]}
        complete = RunFolder("run").names()
        server.behave = lambda e, n: well(e, n) if n % 2 else refuses(e, n)
        done("describe", "run", *asking(server, "other"), "--quiet", code=3)
    assert RunFolder("run").names() == complete  # no less than there was
    assert is_named(complete)


def test_bad_answers_leave_built_in_names_and_are_counted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def tells_a_story(exchange: Exchange, n: int) -> None:
        exchange.say("word " * 500)

    with chat_server(tells_a_story) as server:
        done(*FIT, *asking(server))
    said = capsys.readouterr().err
    n = n_to_name()
    assert f"0 of {n} clusters are named; {n} of {n} clusters keep the built-in name" in said
    assert "× longer than 60 letters" in said and not (folder / "run" / FILE).exists()


def test_nothing_is_sent_unless_asked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setenv("NESTMAP_NAMER_KEY", "a secret key")
    done(*FIT, "--quiet")
    done("describe", "run", "--quiet")
    done("info", "run")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--namer", "http://127.0.0.1:9"), "needs --namer-model"),
        (("--namer-model", "llama3"), "--namer-model is for --namer URL"),
        (("--namer-level", "0"), "--namer-level is for --namer URL"),
        (("--namer", "ftp://x", "--namer-model", "m"), "--namer: 'ftp://x' is no address"),
        (("--namer", "http://k:secret@x", "--namer-model", "m"), "NESTMAP_NAMER_KEY"),
        (("--namer", "x", "--namer-model", "m", "--namer-timeout", "0"), "give the seconds"),
    ],
)
def test_wrong_options_are_told_before_any_work(
    options: tuple[str, ...], said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (FIT, ("describe", "nowhere")):
        done(*command, *options, code=2)
        error = capsys.readouterr().err
        assert said in error and "secret" not in error and not (folder / "run").exists()


def test_a_server_that_is_not_there_is_told_before_any_work(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with chat_server() as server:
        pass
    done(*FIT, *asking(server), code=3)
    assert "nobody answers there" in capsys.readouterr().err and not (folder / "run").exists()


def test_a_run_that_knows_nothing_of_its_rows_has_nothing_to_ask(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save("data.npy", np.random.default_rng(0).normal(size=(50, 4)))
    with chat_server() as server:
        done("fit", "data.npy", "-o", "bare", *asking(server), "--quiet")
        assert "nothing is known of the clusters" in capsys.readouterr().err
        done("describe", "bare", *asking(server), code=2)
        assert not server.asked
    done("describe", "bare")


def test_a_finer_level_must_be_known(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nestmap.method.hierarchy import asking as order

    monkeypatch.setattr(order, "MOST_CLUSTERS", 4)
    done(*FIT, "--quiet")
    with chat_server() as server:
        done("describe", "run", *asking(server), "--namer-level", "0", code=2)
        done("describe", "run", *asking(server), "--quiet")
        n = len({*server.prompts})
        done(*FIT, *asking(server), "--namer-level", "0", "--force", "--quiet")
        assert len({*server.prompts}) > n
    assert is_named(RunFolder("run").names())


def test_a_run_that_is_replaced_hands_names_and_answers_on(folder: Path) -> None:
    done(*FIT, "--quiet")
    with chat_server() as server:
        done("describe", "run", *asking(server), "--quiet")
        named = RunFolder("run").names()
        n_asked = len(server.asked)
        answers = (folder / "run" / ANSWERS).read_bytes()
        done(*FIT, "--force", "--quiet")
        assert (folder / "run" / ANSWERS).read_bytes() == answers
        assert RunFolder("run").names() == named
        assert RunFolder("run").record["largest"][0]["name"].startswith("name ")
        done("describe", "run", *asking(server), "--quiet")
        assert len(server.asked) == n_asked
    assert not (folder / "run.old").exists()


def test_levels_of_very_many_clusters_are_not_named() -> None:
    tree: Any = SimpleNamespace(level_sizes=(3000, 12), n_levels=2, check_level=lambda k: k)
    known = Evidence({1: LevelEvidence((), (), np.empty((0, 8)))}, (), has_names=False)
    with pytest.raises(ValueError, match="level 1 upwards; this one has 3,000, and 2,000 are"):
        namer_module._levels(tree, known, Namespace(namer_level=0))


def test_a_map_that_follows_another_keeps_names_of_clusters_that_are_the_same(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done(*FIT, "--quiet")
    with chat_server() as server:
        done("describe", "run", *asking(server), "--quiet")
        n_asked = len(server.asked)
        write(folder / "more.csv", N + 24)
        follow = ("fit", "more.csv", "--label", "kind", "--like", "run/map-2d.nestmap")
        done(*follow, "-o", "next", "--quiet")
        found = read_model_names(folder / "next")
        assert found and found.model == "llama3" and found.carried == found.names
        n_carried = sum(map(len, found.names.values()))
        assert n_carried >= 3 and len(server.asked) == n_asked
        top = len(RunFolder("next").record["levels"]) - 1
        assert {*found.names[top].values()} <= {
            *RunFolder("run").names()[len(RunFolder("run").record["levels"]) - 1]
        }
        done("describe", "next", *asking(server), "--quiet")
        again = read_model_names(folder / "next")
        assert again and again.carried == found.carried
        for level, own in found.carried.items():
            assert own.items() <= again.names[level].items()
        assert len({*server.prompts[n_asked:]}) <= n_to_name("next") - n_carried


def test_ctrl_c_keeps_all_answers_and_says_how_to_go_on(folder: Path) -> None:
    done(*FIT, "--quiet")
    n_good = 6

    def hangs(exchange: Exchange, n: int) -> None:
        if n <= n_good:
            well(exchange, n)
        else:
            exchange.server.let_go.wait(LIMIT)

    with chat_server(hangs) as server:
        command = [sys.executable, "-m", "nestmap", "describe", "run", *asking(server)]
        with subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, preexec_fn=heed_ctrl_c
        ) as running:
            try:
                wait_for(lambda: len(server.asked) > n_good, running)
                running.send_signal(signal.SIGINT)
                said = running.communicate(timeout=LIMIT)[1]
            finally:
                running.kill()
        assert running.returncode == 130
        assert "goes on" in said and "Traceback" not in said
        assert len((folder / "run" / ANSWERS).read_text().splitlines()) == n_good
        assert RunFolder("run").names() == RunFolder("run").built_in_names()
        n_asked = len(server.asked)
        server.behave = well
        done("describe", "run", *asking(server), "--quiet")
        answered = {*server.prompts[:n_good]}
        assert not answered & {*server.prompts[n_asked:]}
    assert is_named(RunFolder("run").names())


def wait_for(condition: Callable[[], bool], running: subprocess.Popen[str]) -> None:
    for _ in range(int(LIMIT * 50)):
        if condition() or running.poll() is not None:
            return
        try:
            running.wait(0.02)
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError("it did not come that far")


def test_the_key_is_in_no_file_and_in_no_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NESTMAP_NAMER_KEY", "sk-very-secret")
    with chat_server() as server:
        done(*FIT, *asking(server))
        assert {*server.keys} == {"Bearer sk-very-secret"}
    for path in (folder / "run").iterdir():
        assert b"sk-very-secret" not in path.read_bytes()
    said = capsys.readouterr()
    assert "sk-very-secret" not in said.out + said.err


def test_names_do_not_depend_on_how_many_questions_run_at_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = []
    for n_at_once in (1, 4):
        monkeypatch.setattr(namer_module, "_N_AT_ONCE", n_at_once)
        with chat_server() as server:
            done(*FIT[:3], f"run{n_at_once}", *FIT[4:], *asking(server), "--quiet")
        named.append(RunFolder(f"run{n_at_once}").names())
    assert named[0] == named[1]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "7",
        '{"model": 7, "names": {}}',
        '{"model": "m", "names": {"a": {"0": "x"}}}',
        '{"model": "m", "names": {"0": {"0": 5}}}',
        '{"model": "m", "names": 5}',
        '{"model": "m"}',
        '{"model": "m", "names": {"0": 5}}',
    ],
)
def test_a_damaged_file_of_names_is_told(
    text: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done(*FIT, "--quiet")
    (folder / "run" / FILE).write_text(text)
    done("describe", "run", code=3)
    assert "delete it to go back to the built-in names" in capsys.readouterr().err


def test_a_log_gets_a_line_with_the_count_and_the_time_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(namer_module, "_SECONDS_BETWEEN_LINES", -1.0)
    with chat_server() as server:
        done(*FIT, *asking(server))
    n = n_to_name()
    lines = [line for line in capsys.readouterr().err.splitlines() if "names by llama3: " in line]
    assert len(lines) == n and f"names by llama3: 1 of {n}, about " in lines[0]


def test_names_of_rows_are_sent_where_they_say_something(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [line.split(",") for line in (folder / "data.csv").read_text().splitlines()[1:]]
    words = ["ant", "bee", "cow", "dog", "elk"]
    lines = [
        f"{words[i % 5]} {words[i // 5 % 5]},{','.join(row[:3])}" for i, row in enumerate(rows)
    ]
    (folder / "words.csv").write_text("\n".join(["who,x,y,z", *lines]) + "\n")
    with chat_server() as server:
        done("fit", "words.csv", "-o", "run", "--id", "who", *asking(server))
        assert "names of up to 5 rows" in capsys.readouterr().err
        sent = [re.findall(r"Some of its items:\n((?:- .*\n)+)", p)[0] for p in server.prompts]
        assert all(1 <= each.count("\n") <= 5 for each in sent)
        assert any("- cow " in each for each in sent)


def test_names_for_good_questions_differ() -> None:
    assert name_of("one") != name_of("two")
