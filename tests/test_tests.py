"""What must hold for the tests themselves."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
WAITING = ("communicate", "wait", "join")


def endless(text: str) -> Iterator[str]:
    """Calls that wait for another process or thread for as long as it takes."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        name, limited = (
            ast.unparse(node.func),
            any(keyword.arg == "timeout" for keyword in node.keywords),
        )
        runs = (
            name in ("subprocess.run", "subprocess.check_output", "subprocess.check_call")
            and not limited
        )
        waits = node.func.attr in WAITING and not node.args and not limited
        if runs or waits or name.endswith("stdout.readline"):
            yield f"line {node.lineno}: {name}"


@pytest.mark.parametrize("path", sorted(TESTS.glob("*.py")), ids=lambda path: path.name)
def test_a_hang_is_a_failure(path: Path) -> None:
    # line_of has a watchdog; pytest has one for the tests that elsewhere.py starts
    own = {"conftest.py": 1, "elsewhere.py": 1}.get(path.name, 0)
    assert len([*endless(path.read_text())]) == own, [*endless(path.read_text())]


def test_waits_are_found() -> None:
    text = "subprocess.run([x])\nchild.communicate()\nthread.join()\n', '.join(x)\nchild.wait(timeout=3)\nmet.wait(3)"
    assert [*endless(text)] == [
        "line 1: subprocess.run",
        "line 2: child.communicate",
        "line 3: thread.join",
    ]
