"""The other CPU levels of this machine, and NumPy alone, pass the same tests as the one that runs here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from numr import native
from numr.native import levels

HERE = Path(__file__).parent
SAME_TEXT = {"avx512vnni": "avx512"}  # floats have no use for VNNI: the same kernels under another flag

OTHERS = [
    level for level in (*levels.supported(), "none") if level not in (native.level(), SAME_TEXT.get(native.level()))
]


@pytest.mark.skipif(os.environ.get("NUMR_CPU_LEVEL", "") != "", reason="a level is forced already")
@pytest.mark.parametrize("level", OTHERS)
def test_the_level_agrees_with_the_references(level: str) -> None:
    files = [str(HERE / name) for name in ("test_attention.py", "test_rows_and_elements.py")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *files],
        cwd=HERE.parents[2],
        env={**os.environ, "NUMR_CPU_LEVEL": level},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
