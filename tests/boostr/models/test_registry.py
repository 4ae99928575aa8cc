"""The tables agree with each other, and everything they name exists."""

from pathlib import Path

import pytest

from boostr.errors import UnsupportedModelError
from boostr.models.names import GGUF_NAMES, HF_NAMES
from boostr.models.registry import GGUF_ARCHITECTURES, MODEL_TYPES, architecture


@pytest.mark.parametrize("name", sorted(MODEL_TYPES))
def test_model_types_resolve_and_have_names(name: str) -> None:
    network, config = architecture(name)
    assert callable(network.shapes)
    assert callable(config.from_hf)
    assert "embed_tokens" in HF_NAMES[name]


@pytest.mark.parametrize("name", sorted(GGUF_ARCHITECTURES))
def test_gguf_architectures_resolve_and_have_names(name: str) -> None:
    _, config = architecture(name, GGUF_ARCHITECTURES)
    assert callable(config.from_gguf)
    assert "embed_tokens" in GGUF_NAMES[name]


def test_row_order_is_noted_for_queries_and_keys_alike() -> None:
    for table in GGUF_NAMES.values():
        assert table["layers.{n}.self_attn.q_proj"].paired == table["layers.{n}.self_attn.k_proj"].paired
    assert GGUF_NAMES["llama"]["layers.{n}.self_attn.q_proj"].paired
    assert not any(source.paired for source in GGUF_NAMES["qwen3"].values())


def test_the_documentation_lists_every_name() -> None:
    page = (Path(__file__).parents[3] / "docs/architectures.md").read_text("utf-8")
    assert [name for name in {*MODEL_TYPES, *GGUF_ARCHITECTURES} if f"`{name}`" not in page] == []


def test_unknown_names_list_the_known() -> None:
    with pytest.raises(UnsupportedModelError, match="'no such' is not implemented; known: internlm2, llama"):
        architecture("no such")
