"""What the house rules count: long files and functions, many parameters, long tuples, markers.

And pages of docs/ that code names and that are none.

    python -m tools.house            # all of src/nestmap
    python -m tools.house method     # one floor
    python -m tools.house --check    # exit code 1 where a rule is broken
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "nestmap"
LONG_FILE = 400  # lines
LONG_FUNCTION = 40  # lines without docstring
MANY_PARAMETERS = 9
LONG_LINE = 100  # columns
ALLOWED = {"many_parameters": 12, "ignored_types": 8}  # places, in all; of other rules none

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Counts:
    """Places that break a rule, by rule."""

    long_files: list[str] = field(default_factory=list)
    long_functions: list[str] = field(default_factory=list)
    many_parameters: list[str] = field(default_factory=list)
    long_tuples: list[str] = field(default_factory=list)
    parallel_assignments: list[str] = field(default_factory=list)
    long_lines: list[str] = field(default_factory=list)
    ignored_types: list[str] = field(default_factory=list)
    missing_pages: list[str] = field(default_factory=list)  # that code names


def body_length(node: Function) -> int:
    docstring = ast.get_docstring(node)
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    return lines - (docstring.count("\n") + 1 if docstring else 0)


def n_parameters(node: Function) -> int:
    return len(node.args.posonlyargs) + len(node.args.args) + len(node.args.kwonlyargs)


def returns_long_tuple(node: Function) -> bool:
    found = node.returns
    if not isinstance(found, ast.Subscript) or ast.unparse(found.value) != "tuple":
        return False
    parts = found.slice.elts if isinstance(found.slice, ast.Tuple) else []
    return len(parts) > 2 and not any(isinstance(part, ast.Constant) for part in parts)


def is_parallel(node: ast.AST) -> bool:
    """`a, b = x, y`, but no exchange."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Tuple):
        return False
    target = node.targets[0]
    if not isinstance(target, ast.Tuple) or len(target.elts) != len(node.value.elts):
        return False
    names = {part.id for part in ast.walk(target) if isinstance(part, ast.Name)}
    used = {part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)}
    return not names & used


def functions(tree: ast.AST) -> Iterator[Function]:
    for node in ast.walk(tree):
        if isinstance(node, Function):
            yield node


def count(folder: Path) -> Counts:
    counts = Counts()
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        name = path.relative_to(folder.parent)
        lines = text.splitlines()
        if len(lines) > LONG_FILE:
            counts.long_files.append(f"{name} {len(lines)}")
        for number, line in enumerate(lines, 1):
            if len(line) > LONG_LINE:
                counts.long_lines.append(f"{name}:{number}")
            if "# type: ignore" in line:
                counts.ignored_types.append(f"{name}:{number}")
            for page in re.findall(r"\bdocs/[\w/-]+\.md\b", line):
                if not (ROOT / page).exists():
                    counts.missing_pages.append(f"{name}:{number} {page}")
        for node in functions(tree):
            place = f"{name}:{node.lineno} {node.name}"
            if body_length(node) > LONG_FUNCTION:
                counts.long_functions.append(f"{place} {body_length(node)}")
            if n_parameters(node) >= MANY_PARAMETERS:
                counts.many_parameters.append(f"{place} {n_parameters(node)}")
            if returns_long_tuple(node):
                counts.long_tuples.append(place)
        for node in ast.walk(tree):
            if is_parallel(node):
                counts.parallel_assignments.append(f"{name}:{node.lineno}")
    return counts


def broken_rules(counts: Counts) -> list[str]:
    """Rules that more places break than are allowed."""
    return [rule for rule, places in vars(counts).items() if len(places) > ALLOWED.get(rule, 0)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("floor", nargs="?", default="", help="one folder of src/nestmap")
    parser.add_argument("--check", action="store_true", help="exit code 1 where a rule is broken")
    options = parser.parse_args()
    counts = count(SOURCE / options.floor)
    for rule, places in vars(counts).items():
        print(f"{rule}: {len(places)}")
        for place in places:
            print(f"  {place}")
    broken = broken_rules(counts) if options.check else []
    for rule in broken:
        print(f"{rule}: at most {ALLOWED.get(rule, 0)} allowed", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
