"""A namer that asks a server which speaks OpenAI's chat protocol: Ollama, llama.cpp, vLLM, …"""

from __future__ import annotations

import hashlib
import json
import os
from http.client import HTTPException
from threading import Event, Lock
from typing import Any

from ...method.describe import ClusterToName, NamerError, NoAnswer
from ...method.describe.questions import INSTRUCTION
from .cache import AnswerCache
from .endpoint import KEY_VARIABLE, MAX_ANSWER_BYTES, Answer, Endpoint, Exchanges, why_not

_MAX_TOKENS = 1024  # of an answer; models that think aloud need some
_MAX_KEPT_LETTERS = 2000  # of an answer
_MAX_SHOWN_LETTERS = 200  # of what a server says of itself
_TRIES = 4
_TIMED_OUT_TRIES = 2
_FIRST_PAUSE_SECONDS = 1.0  # doubled from try to try
_MAX_PAUSE_SECONDS = 60.0
_MAX_FAILURES = 3  # questions in a row without an answer
_MIN_SECRET_LETTERS = 8  # of a key: "none" and "EMPTY" are what local servers are given
_TRY_AGAIN = (408, 425, 429, 500, 502, 503, 504)
_OF_THIS_QUESTION = (400, 413, 422)  # such as a prompt that is too long


class ChatNamer:
    """Names clusters by a language model; what it is told goes to the address, and nowhere else.

    Parameters
    ----------
    url : str
        Such as http://localhost:11434; `/v1/chat/completions` is added where it is missing. A key
        comes from the environment variable NESTMAP_NAMER_KEY. Neither proxies nor redirects are
        followed.
    model : str
        As the server calls it.
    timeout : float
        Seconds for one answer.
    cache : AnswerCache, optional
        Where answers are kept; default: in memory.

    Examples
    --------
    >>> namer = ChatNamer("localhost:11434", "llama3")
    >>> namer
    ChatNamer('http://localhost:11434/v1/chat/completions', 'llama3')
    """

    def __init__(
        self, url: str, model: str, *, timeout: float = 120.0, cache: AnswerCache | None = None
    ) -> None:
        if not model or not model.isprintable():
            raise ValueError(f"model {model!r}: give the name that the server has for it")
        if not 0 < timeout < 1e6:
            raise ValueError(f"timeout={timeout!r}: give the seconds that one answer may take")
        self.endpoint = Endpoint.of(url)
        self.model = model
        self.cache = AnswerCache() if cache is None else cache
        self.n_sent = 0
        self._key = _read_key()
        self._exchanges = Exchanges(self.endpoint, timeout)
        self._stopped = Event()
        self._lock = Lock()
        self._n_failures = 0

    def __repr__(self) -> str:
        return f"ChatNamer({str(self.endpoint)!r}, {self.model!r})"

    @property
    def sends_key_in_the_open(self) -> bool:
        """Whether a key goes along that others on the way can read."""
        is_here = self.endpoint.host in ("localhost", "127.0.0.1", "::1")
        return bool(self._key) and not self.endpoint.is_encrypted and not is_here

    def __call__(self, cluster: ClusterToName) -> str:
        """The answer for a cluster, from the cache if the same was asked before.

        Raises
        ------
        NoAnswer
            If the server has none for this question, or nothing is known that it could be asked.
        NamerError
            If it is not there, refuses, or had none for three questions in a row.
        """
        if not cluster.is_known:
            raise NoAnswer("not asked for, as nothing is known of the cluster")
        body = self._body(cluster)
        key = hashlib.sha256(body).hexdigest()
        if (known := self.cache.get(key)) is not None:
            return known
        answer = self._ask(body)
        if answer.strip():
            self.cache.put(key, answer[:_MAX_KEPT_LETTERS].encode("utf-8", "replace").decode())
        return answer

    def stop(self) -> None:
        """End the questions that are on their way, and ask no more."""
        self._stopped.set()
        self._exchanges.cut_off()

    def _body(self, cluster: ClusterToName) -> bytes:
        messages = [
            {"role": "system", "content": INSTRUCTION},
            {"role": "user", "content": cluster.prompt.encode("utf-8", "replace").decode()},
        ]
        asked = {
            "model": self.model,
            "messages": messages,
            "temperature": 0,
            "max_tokens": _MAX_TOKENS,
            "stream": False,
        }
        return json.dumps(asked).encode()

    def _ask(self, body: bytes) -> str:
        """The answer, after some tries; failures in a row are counted."""
        try:
            answer = self._content(self._send(body))
        except NoAnswer as reason:
            with self._lock:
                self._n_failures += 1
            if self._n_failures >= _MAX_FAILURES:
                raise NamerError(
                    f"{self.endpoint}: no answer to {_MAX_FAILURES} questions in a row "
                    f"(the last: {reason})"
                ) from None
            raise
        with self._lock:
            self._n_failures = 0
        return answer

    def _send(self, body: bytes) -> Answer:
        """The answer of a server that is ready for it."""
        for n_tried in range(1, _TRIES + 1):
            if self._stopped.is_set():
                break
            pause = _FIRST_PAUSE_SECONDS * 2 ** (n_tried - 1)
            try:
                with self._lock:
                    self.n_sent += 1
                answer = self._exchanges.post(body, self._key)
            except TimeoutError:
                if n_tried == _TIMED_OUT_TRIES:
                    raise NoAnswer(f"none within {self._exchanges.seconds:g} s") from None
            except (OSError, HTTPException) as error:
                if n_tried == _TRIES:
                    raise NamerError(f"{self.endpoint}: {self._shown(why_not(error))}") from None
            else:
                if answer.status not in _TRY_AGAIN:
                    return self._accepted(answer)
                if n_tried == _TRIES:
                    raise NoAnswer(self._told(answer))
                pause = _asked_pause(answer, pause)
            self._stopped.wait(pause)
        raise NamerError(f"{self.endpoint}: stopped")

    def _accepted(self, answer: Answer) -> Answer:
        """An answer of status 200; what else there is goes no further."""
        status = answer.status
        if status == 200:
            return answer
        if 300 <= status < 400:
            where = self._shown(answer.location) or "nowhere"
            raise NamerError(
                f"{self.endpoint} leads on to {where}: nothing was sent there; "
                "give the final address"
            )
        told = self._told(answer)
        if status in _OF_THIS_QUESTION:
            raise NoAnswer(told)
        hint = {
            401: f"; a key goes into the environment variable {KEY_VARIABLE}",
            403: f"; a key goes into the environment variable {KEY_VARIABLE}",
            404: f"; is there a model {self.model!r}, and is that the address?",
        }
        raise NamerError(f"{self.endpoint}: {told}{hint.get(status, '')}")

    def _content(self, answer: Answer) -> str:
        """What the model has said, from the JSON of the protocol."""
        if len(answer.body) > MAX_ANSWER_BYTES:
            raise NoAnswer(f"longer than {MAX_ANSWER_BYTES:,} bytes")
        try:
            found = json.loads(answer.body)
        except (ValueError, RecursionError):
            kind = self._shown(answer.kind) or "nothing that has a name"
            raise NoAnswer(f"no JSON but {kind}") from None
        try:
            content = found["choices"][0]["message"]["content"]
        except (TypeError, KeyError, IndexError):
            raise NoAnswer("JSON without choices[0].message.content") from None
        if not isinstance(content, str):
            raise NoAnswer("content that is no text")
        return self._without_key(content)

    def _told(self, answer: Answer) -> str:
        """What a server says of itself."""
        said = self._shown(_said(answer))
        return f"status {answer.status}{': ' if said else ''}{said}"

    def _shown(self, text: str) -> str:
        """What a server has sent as one short line, without the key."""
        hidden = self._without_key(text)  # before it is cut: half of a key is too much
        plain = "".join(c if c.isprintable() else " " for c in hidden[:_MAX_SHOWN_LETTERS])
        return " ".join(plain.split())

    def _without_key(self, text: str) -> str:
        """For servers that repeat what they were sent; short keys are no secrets."""
        return text.replace(self._key, "…") if len(self._key) >= _MIN_SECRET_LETTERS else text


def _read_key() -> str:
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not key.isascii() or any(not c.isprintable() for c in key):
        raise ValueError(f"{KEY_VARIABLE} holds letters that a key does not have")
    return key


def _asked_pause(answer: Answer, usual: float) -> float:
    """Seconds that a server asks for, within a minute."""
    text = answer.retry_after
    is_number = text.isascii() and text.isdigit() and len(text) < 10
    return min(float(text), _MAX_PAUSE_SECONDS) if is_number else usual


def _said(answer: Answer) -> str:
    """What went wrong, in the server's words."""
    try:
        found: Any = json.loads(answer.body)
        error = found.get("error", found.get("detail", ""))
        return str(error.get("message", "") if isinstance(error, dict) else error)
    except (ValueError, RecursionError, AttributeError):
        return ""
