"""The generated pages say what the program does."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_generated_pages_are_current() -> None:
    command = [sys.executable, str(ROOT / "tools" / "generate_docs.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
