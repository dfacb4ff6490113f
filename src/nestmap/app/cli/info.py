"""`nestmap info`: reads a few kilobytes, whatever the size of the run; imports nothing large."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

from ..runs.record import read_record, to_text
from .streams import give
from .talk import print_text


def run_info(options: Namespace) -> None:
    """Say what a run holds."""
    record = read_record(Path(options.run).expanduser())
    if options.json:
        give(json.dumps(record, indent=1))
    else:
        print_text(to_text(record))
