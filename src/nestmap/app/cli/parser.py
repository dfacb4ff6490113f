"""The parser: errors of two lines, which say what is wrong and the way out, and `--help-all`."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from ..._version import __version__
from ...core.habits import INSTEAD, did_you_mean
from .commands import COMMANDS


class Parser(argparse.ArgumentParser):
    """Also of the sub-commands; the usage of `fit` would push an error off the screen."""

    def error(self, message: str) -> NoReturn:
        choice = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
        hint = did_you_mean(choice[1], re.findall(r"[\w-]+", choice[2])) if choice else ""
        self.exit(2, f"{self.prog}: {message}{hint}\n`{self.prog} --help` lists what there is\n")

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> Any:
        """None is left over: the parser of the command is the one that knows what was meant."""
        options, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(f"unknown {rest[0]}{self._advice(rest[0])}")
        return options, rest

    def add_help_all(self, command: str) -> None:
        """The option that lists the options of experts, too."""
        text = "also list the options that only experts need"
        self.add_argument("--help-all", action=HelpAll, nargs=0, const=command, help=text)

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


class HelpAll(argparse.Action):
    """Print the help of a command (`const`) with all of its options."""

    def __call__(self, *_: Any, **__: Any) -> None:
        make_parser(with_experts=True).parse_args([self.const, "--help"])


def make_parser(with_experts: bool = False) -> Parser:
    """The parser of all commands; `with_experts`: its help lists all options."""
    parser = Parser(
        prog="nestmap",
        description="Maps of high-dimensional data, and the hierarchy of clusters below them.",
    )
    parser.add_argument("--version", action="version", version=f"nestmap {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS.values():
        command.add_to(commands, with_experts)
    return parser
