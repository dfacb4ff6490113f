"""A parser of two-line errors: what is wrong, with the way out, and where options are listed."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from ...core.habits import INSTEAD, did_you_mean


class Parser(argparse.ArgumentParser):
    """Also of the sub-commands; the usage of `fit` would push an error off the screen."""

    def error(self, message: str) -> NoReturn:
        choice = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
        hint = did_you_mean(choice[1], re.findall(r"[\w-]+", choice[2])) if choice else ""
        self.exit(2, f"{self.prog}: {message}{hint}\n`{self.prog} --help` lists what there is\n")

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """None is left over: the parser of the command is the one that knows what was meant."""
        options, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(f"unknown {rest[0]}{self._advice(rest[0])}")
        return options, rest

    def _advice(self, argument: str) -> str:
        flag = argument.partition("=")[0]
        name = flag.lstrip("-").replace("-", "_")
        if not flag.startswith("-"):
            return ": one argument too many"
        return (
            f": {INSTEAD[name]}"
            if name in INSTEAD
            else did_you_mean(flag, self._option_string_actions)
        )
