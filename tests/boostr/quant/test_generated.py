"""Files made by scripts say what the scripts would write today: the codebooks in C, and the table of check.c."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]


def script(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by its name.
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(__import__("sys").modules, spec.name, module)
        spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", ["tools/generate_grids.py", "tests/boostr/quant/native/write_types.py"])
def test_a_generated_header_is_up_to_date(path: str) -> None:
    made = script(path)
    assert made.HEADER.read_text("utf-8") == made.header()
