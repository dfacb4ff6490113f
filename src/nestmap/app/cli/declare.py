"""What a command and its options are, declared; and how argparse is told of them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

METAVARS: dict[Callable[[str], Any], str] = {int: "N", float: "NUMBER"}


@dataclass(frozen=True)
class Option:
    """An option of a command, or a positional argument: then its flag has no dash.

    Attributes
    ----------
    flags : str
        Separated by blanks: '-o --output'.
    help : str
        Without the default, which is added.
    metavar : str
        What the value is called; '': by its type.
    convert : callable
        From the text that was given; raises ArgumentTypeError.
    choices : tuple of str
    default : any
        None: there is none, or what happens then is part of `help`.
    group : str
        The heading below which `--help` lists it.
    is_expert : bool
        Listed by `--help-all` only.
    parameter : str
        The keyword of `HNNE`, or of its layout, which the option sets. Its value is None where it
        was not given, so that a run records what was: `default` is told, and tested to be that of
        the keyword.
    is_switch : bool
        True if it is there, takes no value.
    is_required : bool
    takes_many : bool
        One value or more.
    repeats : bool
        May be there several times, with a value each.
    alone : any
        The value if the option is there without one; None: it needs one.
    rivals : str
        Options of a command with the same word exclude each other.
    """

    flags: str
    help: str = ""
    metavar: str = ""
    convert: Callable[[str], Any] = str
    choices: tuple[str, ...] = ()
    default: Any = None
    group: str = ""
    is_expert: bool = False
    parameter: str = ""
    is_switch: bool = False
    is_required: bool = False
    takes_many: bool = False
    repeats: bool = False
    alone: Any = None
    rivals: str = ""

    @property
    def flag(self) -> str:
        """The long flag, or the name of a positional argument."""
        return self.flags.split()[-1]

    @property
    def dest(self) -> str:
        """The attribute of the parsed options that has its value."""
        return self.flag.lstrip("-").replace("-", "_")

    @property
    def told(self) -> str:
        """Its help with its default."""
        if self.default in (None, False) or self.takes_many or self.repeats:
            return self.help
        is_list = isinstance(self.default, list)
        shown = ",".join(map(str, self.default)) if is_list else f"{self.default}"
        if isinstance(self.default, float):
            shown = f"{self.default:.3g}"
        return f"{self.help} (default: {shown})".lstrip()

    def add_to(self, parser: Any, with_experts: bool) -> None:
        """Add it to a parser or a group of one."""
        is_hidden = self.is_expert and not with_experts
        given: dict[str, Any] = {
            "help": argparse.SUPPRESS if is_hidden else self.told.replace("%", "%%")
        }
        if self.flags.startswith("-"):
            given["default"] = None if self.parameter else self.default
            given["required"] = self.is_required
        if self.is_switch:
            default = None if self.parameter else False
            parser.add_argument(
                *self.flags.split(), **given | {"action": "store_true", "default": default}
            )
            return
        if self.takes_many:
            given["nargs"] = "+"
        if self.repeats:
            given["action"] = "append"
        if self.alone is not None:
            given |= {"nargs": "?", "const": self.alone}
        metavar = self.metavar or (None if self.choices else METAVARS.get(self.convert))
        parser.add_argument(
            *self.flags.split(),
            type=self.convert,
            choices=self.choices or None,
            metavar=metavar,
            **given,
        )


@dataclass(frozen=True)
class Command:
    """A command: what it does, its options, and the module that has its function `run_<name>`."""

    name: str
    help: str
    options: tuple[Option, ...]
    module: str
    prints: bool = False  # what it was asked for, on standard output

    def add_to(self, commands: Any, with_experts: bool) -> None:
        """Add its parser to those of all commands."""
        parser = commands.add_parser(self.name, help=self.help, description=self.help)
        if any(option.is_expert for option in self.options) and not with_experts:
            parser.add_help_all(self.name)
        groups: dict[str, Any] = {"": parser}
        rivals: dict[str, Any] = {}
        for option in self.options:
            if option.group not in groups:
                groups[option.group] = parser.add_argument_group(option.group)
            into = groups[option.group]
            if option.rivals:
                into = rivals.setdefault(option.rivals, into.add_mutually_exclusive_group())
            option.add_to(into, with_experts)
