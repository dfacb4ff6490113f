"""What the head of a request says, read with care: anything may stand there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from http import HTTPStatus
from ipaddress import ip_address
from urllib.parse import urlsplit

_UNLISTED = 0.0001  # what nobody mentions is taken, but only if there is nothing better


class Refused(Exception):
    """An answer that is an error."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status = status


class QuestionError(ValueError):
    """A question that has no answer, and why, in words for who asked."""


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine only."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def host_name(host: str) -> str:
    """The name in a Host header, without the port; empty if it is none.

    Examples
    --------
    >>> host_name("LocalHost.:80"), host_name("[::1]"), host_name("a@b")
    ('localhost', '::1', '')
    """
    match = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+)(:[0-9]{1,5})?", host)
    return match[1].strip("[]").lower().removesuffix(".") if match else ""


def origin_host(origin: str) -> str:
    """Host and port of an Origin header; ValueError for one that is no address."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        raise ValueError("the Origin header is no address") from None


def chosen_encoding(accepted: Sequence[str]) -> str | None:
    """'gzip' or 'identity', as Accept-Encoding has it; None if it refuses both (RFC 9110, 12.5.3).

    Examples
    --------
    >>> chosen_encoding(["br, gzip"]), chosen_encoding(["gzip;q=0"])
    ('gzip', 'identity')
    >>> chosen_encoding(["gzip;q=0, *;q=0"]) is None
    True
    """
    weights: dict[str, float] = {}
    for each in ",".join(accepted).lower().split(","):
        coding, *parameters = (part.strip() for part in each.split(";"))
        weights[coding.removeprefix("x-")] = min(
            (_weight(given) for given in parameters), default=1.0
        )
    packed = weights.get("gzip", weights.get("*", 0.0))
    plain = weights.get("identity", weights.get("*", _UNLISTED))
    if packed > 0 and packed >= plain:
        return "gzip"
    return "identity" if plain > 0 else None


def _weight(parameter: str) -> float:
    """The number of q=0.5; 0 for one that is none, 1 for other parameters."""
    if not parameter.startswith("q="):
        return 1.0
    match = re.fullmatch(r"q=(0(\.[0-9]{0,3})?|1(\.0{0,3})?)", parameter)
    return float(match[1]) if match else 0.0
