"""`nestmap info`: a few kilobytes are read, whatever the size of the run, and nothing large is imported."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

from ..runs.record import read_record, to_text


def run_info(options: Namespace) -> None:
    """Say what a run holds."""
    record = read_record(Path(options.run).expanduser())
    print(json.dumps(record, indent=1) if options.json else to_text(record))
