"""A tokenizer.json whose expression backtracks without end once made the package's panic run through all handlers."""

import json
from pathlib import Path

import pytest

from boostr.errors import TokenizerError
from boostr.tokenizers import from_directory

SOURCE = Path(__file__).parents[1] / "data" / "tokenizers" / "tiny-llama3" / "tokenizer.json"
ENDLESS = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}


@pytest.mark.parametrize("prefix", ["", "x " * 4096])
def test_a_text_that_it_gives_up_on_is_a_tokenizer_error(prefix: str, tmp_path: Path) -> None:
    content = json.loads(SOURCE.read_text("utf-8"))
    content["pre_tokenizer"] = ENDLESS
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    tokenizer = from_directory(tmp_path)
    with pytest.raises(TokenizerError, match="cannot encode this text"):
        tokenizer.encode(prefix + "a" * 40 + "b")
