"""A language model behind an address: what is sent, what is made of answers, and of servers that
are slow, wrong or rude.
"""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from http.client import HTTPException
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from chatting import Exchange, chat_server, name_of, well
from conftest import LIMIT

from nestmap.app.naming import AnswerCache, ChatNamer, Endpoint
from nestmap.app.naming import chat as chat_module
from nestmap.app.naming import endpoint as endpoint_module
from nestmap.app.naming.endpoint import Exchanges
from nestmap.method.describe import ClusterToName, NamerError, NoAnswer

CLUSTER = ClusterToName(1, 7, 90, "wool · coat", ("kind=coat 90% (all 10%)",), texts=("a coat",))
OTHER = ClusterToName(1, 8, 50, "silk · tie")
KEY = "sk-a-secret-of-the-user"


@pytest.fixture(autouse=True)
def given_no_key_and_short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NESTMAP_NAMER_KEY", raising=False)
    monkeypatch.setattr(chat_module, "_FIRST_PAUSE_SECONDS", 0.001)


def namer_of(url: str, **options: Any) -> ChatNamer:
    return ChatNamer(url, "llama3", timeout=options.pop("timeout", LIMIT), **options)


def test_a_question_is_sent_as_the_protocol_says() -> None:
    with chat_server() as server:
        assert namer_of(server.url)(CLUSTER) == name_of(CLUSTER.prompt)
        assert namer_of(f"{server.url}/v1/")(OTHER) == name_of(OTHER.prompt)
        (asked, _) = server.asked
        assert asked["model"] == "llama3" and asked["temperature"] == 0 and not asked["stream"]
        assert [message["role"] for message in asked["messages"]] == ["system", "user"]
        assert server.prompts[0] == CLUSTER.prompt and "kind=coat 90% (all 10%)" in CLUSTER.prompt
        assert server.paths == ["/v1/chat/completions"] * 2 and server.keys == [None, None]


@pytest.mark.parametrize(
    ("url", "full"),
    [
        ("localhost:11434", "http://localhost:11434/v1/chat/completions"),
        ("http://localhost:11434/", "http://localhost:11434/v1/chat/completions"),
        ("http://gpu/v1", "http://gpu/v1/chat/completions"),
        ("http://gpu/api/v2/", "http://gpu/api/v2/chat/completions"),
        ("https://x.org/a/v1/chat/completions", "https://x.org/a/v1/chat/completions"),
        ("http://[::1]:8080", "http://[::1]:8080/v1/chat/completions"),
        ("https://x.org:443/proxy", "https://x.org/proxy/v1/chat/completions"),
    ],
)
def test_an_address_is_completed(url: str, full: str) -> None:
    assert str(Endpoint.of(url)) == full


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://x",
        "file:///etc/passwd",
        "http://",
        "http://x:port",
        "http://x:99999",
        "http://a b",
        "http://x/\r\nHost: y",
        "http://ü.de",
    ],
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="address"):
        Endpoint.of(url)


@pytest.mark.parametrize("url", [f"http://me:{KEY}@x", f"http://x/v1?key={KEY}", f"http://{KEY}@x"])
def test_keys_in_an_address_are_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ValueError, match="NESTMAP_NAMER_KEY") as told:
        Endpoint.of(url)
    assert KEY not in str(told.value)


@pytest.mark.parametrize("options", [{"model": ""}, {"model": "a\nb"}, {"timeout": 0}])
def test_other_arguments_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="give the"):
        ChatNamer("localhost", **{"model": "llama3", **options})


def test_a_key_is_sent_and_neither_kept_nor_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NESTMAP_NAMER_KEY", KEY)

    def repeats_it(exchange: Exchange, n: int) -> None:
        told = f"wrong: {exchange.headers['Authorization']}"
        if n == 1:
            exchange.say(told)
        else:
            exchange.send(json.dumps({"error": {"message": told}}).encode(), 401)

    with chat_server(repeats_it) as server:
        cache = AnswerCache(tmp_path / "answers.jsonl")
        namer = namer_of(server.url, cache=cache)
        assert namer(CLUSTER) == "wrong: Bearer …"
        with pytest.raises(
            NamerError, match="status 401: wrong: Bearer …; a key goes into"
        ) as told:
            namer(OTHER)
        assert server.keys == [f"Bearer {KEY}"] * 2
        assert KEY not in repr(namer) + str(told.value) + (tmp_path / "answers.jsonl").read_text()
        assert not namer.sends_key_in_the_open
    assert ChatNamer("http://gpu", "m").sends_key_in_the_open
    assert not ChatNamer("https://gpu", "m").sends_key_in_the_open
    monkeypatch.setenv("NESTMAP_NAMER_KEY", "a\nb")
    with pytest.raises(ValueError, match="NESTMAP_NAMER_KEY holds letters"):
        ChatNamer("http://gpu", "m")


@pytest.mark.parametrize(
    "where", ["status line", "kind", "address", "error", "end of what is shown"]
)
def test_a_server_that_says_a_key_is_quoted_without_it(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NESTMAP_NAMER_KEY", KEY)

    def says(exchange: Exchange, n: int) -> None:
        told = f"\x1b[2J{exchange.headers['Authorization']}"
        if where == "status line":
            exchange.wfile.write(f"{told}\r\n".encode())
        elif where == "kind":
            exchange.send(b"<html>", kind=told)
        elif where == "address":
            exchange.send(b"", 302, Location=told)
        else:
            before = "" if where == "error" else "x" * 180
            error = {"error": {"message": before + told}}
            exchange.send(json.dumps(error).encode(), 401)

    with chat_server(says) as server:
        with pytest.raises((NamerError, NoAnswer)) as told:
            namer_of(server.url)(CLUSTER)
        assert server.keys[0] == f"Bearer {KEY}"
    assert str(told.value).isprintable() and KEY[:6] not in str(told.value)


def html(exchange: Exchange, n: int) -> None:
    exchange.send(b"<html>a router</html>", kind="text/html")


def deep(exchange: Exchange, n: int) -> None:
    exchange.send(b"[" * 100_000)


def no_choices(exchange: Exchange, n: int) -> None:
    exchange.send(b'{"choices": []}')


def odd_choices(exchange: Exchange, n: int) -> None:
    exchange.send(b'{"choices": {"message": 7}}')


def no_text(exchange: Exchange, n: int) -> None:
    exchange.say({"name": "coats"})


def huge(exchange: Exchange, n: int) -> None:
    exchange.say("x" * 10_000_000)


def endless(exchange: Exchange, n: int) -> None:
    exchange.send_response(200)
    exchange.end_headers()
    while not exchange.server.let_go.is_set():  # until the client has enough
        exchange.wfile.write(b" " * 100_000)


def always_500(exchange: Exchange, n: int) -> None:
    exchange.send(b'{"error": "out of \\u001b[31mmemory"}', 500)


def too_long(exchange: Exchange, n: int) -> None:
    exchange.send(b'{"error": {"message": "prompt too long"}}', 400)


@pytest.mark.parametrize(
    ("behave", "reason"),
    [
        (html, "no JSON but text/html"),
        (deep, "no JSON but application/json"),
        (no_choices, r"JSON without choices\[0\]"),
        (odd_choices, r"JSON without choices\[0\]"),
        (no_text, "content that is no text"),
        (huge, "longer than 1,000,000 bytes"),
        (endless, "longer than 1,000,000 bytes"),
        (always_500, r"status 500: out of \[31mmemory"),
        (too_long, "status 400: prompt too long"),
    ],
)
def test_a_server_without_an_answer_is_left_after_three_questions(
    behave: Callable[[Exchange, int], None], reason: str, tmp_path: Path
) -> None:
    with chat_server(behave) as server:
        namer = namer_of(server.url, cache=AnswerCache(tmp_path / "answers.jsonl"))
        for _ in range(2):
            with pytest.raises(NoAnswer, match=reason):
                namer(CLUSTER)
        with pytest.raises(NamerError, match=f"no answer to 3 questions in a row.*{reason}"):
            namer(CLUSTER)
        assert len(server.asked) == namer.n_sent == (12 if behave is always_500 else 3)
        assert not (tmp_path / "answers.jsonl").exists()


def test_one_good_answer_and_the_count_begins_anew() -> None:
    with chat_server(lambda e, n: well(e, n) if n % 3 == 0 else html(e, n)) as server:
        namer = namer_of(server.url)
        for i in range(9):
            question = ClusterToName(0, i, 1, f"cluster of {i}")
            if i % 3 == 2:
                assert namer(question) == name_of(question.prompt)
            else:
                with pytest.raises(NoAnswer):
                    namer(question)


def resets(exchange: Exchange, n: int) -> None:
    exchange.reset()


def closes_in_the_middle(exchange: Exchange, n: int) -> None:
    exchange.send_response(200)
    exchange.send_header("Content-Length", "1000")
    exchange.end_headers()
    exchange.wfile.write(b'{"choices": [{"message": {"content": "half"}}]}')
    exchange.wfile.flush()
    exchange.connection.shutdown(socket.SHUT_RDWR)


def closes_in_a_chunk(exchange: Exchange, n: int) -> None:
    exchange.protocol_version = "HTTP/1.1"
    exchange.send_response(200)
    exchange.send_header("Transfer-Encoding", "chunked")
    exchange.end_headers()
    exchange.wfile.write(b"100\r\n{")
    exchange.wfile.flush()
    exchange.connection.shutdown(socket.SHUT_RDWR)


def no_http(exchange: Exchange, n: int) -> None:
    exchange.wfile.write(b"SSH-2.0-OpenSSH_9.6\r\n")


@pytest.mark.parametrize(
    "behave", [resets, closes_in_the_middle, closes_in_a_chunk, no_http, always_500]
)
def test_a_rude_server_is_asked_again(behave: Callable[[Exchange, int], None]) -> None:
    with chat_server(lambda e, n: behave(e, n) if n < 4 else well(e, n)) as server:
        assert namer_of(server.url)(CLUSTER) == name_of(CLUSTER.prompt)
        assert len(server.asked) == 4
    if behave is always_500:
        return
    with chat_server(behave) as server:
        with pytest.raises(NamerError, match=server.url):
            namer_of(server.url)(CLUSTER)
        assert len(server.asked) == 4


def test_a_busy_server_says_how_long_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = ["7", "900", "soon", ""]

    def busy(exchange: Exchange, n: int) -> None:
        if n > len(waits) - 1:
            well(exchange, n)
        else:
            exchange.send(b"{}", 429, Retry_After=waits[n - 1])

    with chat_server(busy) as server:
        namer = namer_of(server.url)
        waited: list[float] = []
        monkeypatch.setattr(namer._stopped, "wait", waited.append)
        assert namer(CLUSTER) == name_of(CLUSTER.prompt)
        assert waited == [7.0, 60.0, 0.004]


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(status: int) -> None:
    with chat_server() as other:

        def leads_on(exchange: Exchange, n: int) -> None:
            exchange.send(b"", status, Location=f"{other.url}/v1/chat/completions")

        with chat_server(leads_on) as server:
            with pytest.raises(NamerError, match=f"leads on to {other.url}.* nothing was sent"):
                namer_of(server.url)(CLUSTER)
            assert len(server.asked) == 1 and not other.asked


def test_proxies_of_the_environment_see_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with chat_server() as proxy, chat_server() as server:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        assert namer_of(server.url)(CLUSTER) == name_of(CLUSTER.prompt)
        assert len(server.asked) == 1 and not proxy.asked


def silent(exchange: Exchange, n: int) -> None:
    exchange.server.let_go.wait(LIMIT)


def drips(exchange: Exchange, n: int) -> None:
    """Each byte in time, the answer never."""
    exchange.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
    while not exchange.server.let_go.wait(0.02):
        exchange.wfile.write(b"x")


@pytest.mark.parametrize("behave", [silent, drips])
def test_a_slow_server_has_so_long_for_an_answer(behave: Callable[[Exchange, int], None]) -> None:
    with chat_server(behave) as server:
        with pytest.raises(NoAnswer, match=r"none within 0\.3 s"):
            namer_of(server.url, timeout=0.3)(CLUSTER)
        assert len(server.asked) == 2


def test_questions_that_run_can_be_stopped() -> None:
    with chat_server(silent) as server:
        namer = namer_of(server.url)
        errors: list[Exception] = []

        def ask() -> None:
            try:
                namer(CLUSTER)
            except NamerError as error:
                errors.append(error)

        threads = [Thread(target=ask, daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()
        while len(server.asked) < 3:
            threads[0].join(0.01)
        namer.stop()
        for thread in threads:
            thread.join(LIMIT)
        assert len(errors) == 3 and "stopped" in str(errors[0]) and len(server.asked) == 3
        with pytest.raises(NamerError, match="stopped"):
            namer(OTHER)


def test_questions_that_connect_while_others_are_stopped_end_too() -> None:
    with chat_server(silent) as server:
        exchanges = Exchanges(Endpoint.of(server.url), LIMIT)
        exchanges.cut_off()
        with pytest.raises((OSError, HTTPException)):
            exchanges.post(b"{}", "")
        assert not server.asked


def test_what_is_cut_off_stays_encrypted() -> None:
    here, there = socket.socketpair()
    with here, there:
        context = ssl.create_default_context()
        options: dict[str, Any] = {"server_hostname": "x", "do_handshake_on_connect": False}
        with context.wrap_socket(here, **options) as encrypted:
            endpoint_module._cut(encrypted)
            with pytest.raises(OSError):  # ValueError where nothing encrypts any more
                encrypted.unwrap()
        assert there.recv(1) == b""


def test_nobody_there_is_said_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(NamerError, match=rf"127\.0\.0\.1:{port}.*refused"):
        Endpoint.of(f"127.0.0.1:{port}").probe()
    with pytest.raises(NamerError, match="refused"):
        namer_of(f"127.0.0.1:{port}")(CLUSTER)
    with chat_server() as server:
        Endpoint.of(server.url).probe()
        assert not server.asked


def test_a_model_that_is_not_there_is_told() -> None:
    def unknown(exchange: Exchange, n: int) -> None:
        exchange.send(b'{"error": {"message": "model \\"llama3\\" not found"}}', 404)

    with chat_server(unknown) as server:
        with pytest.raises(NamerError, match=r"404.*not found.*is there a model 'llama3'"):
            namer_of(server.url)(CLUSTER)
        assert len(server.asked) == 1


def test_what_was_asked_is_not_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    with chat_server() as server:
        first = namer_of(server.url, cache=AnswerCache(path))(CLUSTER)
        again = namer_of(server.url, cache=AnswerCache(path))
        renumbered = ClusterToName(3, 0, 91, *CLUSTER_FACTS)
        assert again(CLUSTER) == again(renumbered) == first and len(server.asked) == 1
        assert again(OTHER) != first and len(server.asked) == 2
        assert ChatNamer(server.url, "mistral", cache=AnswerCache(path))(CLUSTER) == first
        assert len(server.asked) == 3  # another model may say something else
        assert "coat" not in path.read_text()  # what was asked is not kept


CLUSTER_FACTS = (CLUSTER.name, CLUSTER.evidence, CLUSTER.hints, CLUSTER.typical, CLUSTER.texts)


def test_a_file_of_answers_may_have_been_cut_or_damaged(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    cache = AnswerCache(path)
    for i in range(3):
        cache.put(f"k{i}", f"Ünï\n{i}")
    whole = path.read_bytes()
    assert whole.count(b"\n") == 3 and len(AnswerCache(path)) == 3
    path.write_bytes(whole[:-5])  # a crash in the middle of a line
    cut = AnswerCache(path)
    assert len(cut) == 2 and cut.get("k2") is None
    cut.put("k3", "after")
    assert AnswerCache(path).get("k3") == "after" and AnswerCache(path).get("k1") == "Ünï\n1"
    junk = [b"\xff\xfe", b"[" * 50_000, b"{}", b"7", b'{"key": 1, "answer": "a"}', b"x" * 200_000]
    path.write_bytes(whole + b"\n".join(junk) + b"\n")
    assert len(AnswerCache(path)) == 3
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="no file of answers"):
        AnswerCache(tmp_path / "folder")


def test_processes_may_add_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    code = (
        "import sys; from pathlib import Path; from nestmap.app.naming import AnswerCache\n"
        "cache = AnswerCache(Path(sys.argv[1]))\n"
        "for i in range(50): cache.put(f'{sys.argv[2]}{i}', 'x' * 500)"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(path), who]) for who in ("a", "b", "c")
    ]
    assert [each.wait(LIMIT) for each in running] == [0, 0, 0]
    assert len(AnswerCache(path)) == 150


def test_a_cluster_that_nothing_is_known_of_is_not_asked_for() -> None:
    with chat_server() as server:
        namer = namer_of(server.url)
        children = ("cluster 3", "cluster 4")
        unknown = ClusterToName(0, 0, 5, "cluster 0", children=children, siblings=("coats",))
        for _ in range(4):  # it does not count as a failure of the server
            with pytest.raises(NoAnswer, match="nothing is known"):
                namer(unknown)
        assert not server.asked
        assert namer(replace(unknown, children=("cluster 3", "wool")))
        assert "wool" in server.prompts[0] and "cluster" not in server.prompts[0]


def test_an_empty_answer_is_not_kept(tmp_path: Path) -> None:
    with chat_server(lambda e, n: e.say("")) as server:
        namer = namer_of(server.url, cache=AnswerCache(tmp_path / "answers.jsonl"))
        assert namer(CLUSTER) == "" and not (tmp_path / "answers.jsonl").exists()
        assert namer(CLUSTER) == "" and len(server.asked) == 2


def test_nothing_of_the_network_is_imported_where_nobody_asks() -> None:
    code = (
        "import sys, nestmap, nestmap.app.cli\nfrom nestmap import HNNE\n"
        "assert not {'nestmap.app.naming', 'http.client'} & set(sys.modules), 'imported'"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=LIMIT)
