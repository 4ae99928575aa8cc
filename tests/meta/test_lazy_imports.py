"""Importing a package, or asking for help, must not pay for what it does not use."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "forbidden"),
    [
        ("numr", {"scipy", "cupy"}),
        ("boostr", {"tokenizers", "jinja2", "huggingface_hub", "gguf", "safetensors", "numpy"}),
        (
            "blazr.cli.main",
            {"numpy", "boostr.generate", "starlette", "hypercorn", "tokenizers", "jinja2", "huggingface_hub"},
        ),
    ],
)
def test_import_leaves_heavy_modules_out(module: str, forbidden: set[str]) -> None:
    code = f"import sys, {module}; print('\\n'.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert forbidden & set(loaded) == set()
