"""Loading accounts for every tensor: used, skipped with a reason, or an error that names it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from boostr.errors import ConfigError, ParameterError, TokenizerError, UnsupportedModelError, WeightsError
from boostr.formats import open_checkpoint
from boostr.formats.gguf import write_gguf
from boostr.models import LoadReport, Network, load_network
from boostr.state import Batch, SequenceState
from tests.boostr.models.networks import ARCH, DATA, golden, one_shot

Tensors = dict[str, NDArray[Any]]


@pytest.fixture
def changed(tmp_path: Path) -> Callable[..., Path]:
    """A copy of a committed checkpoint with other tensors or config values."""

    def make(case: str, change: Callable[[Tensors], object] = lambda _: None, **config: Any) -> Path:
        tensors = load_file(ARCH / case / "model.safetensors")
        change(tensors)
        save_file(tensors, tmp_path / "model.safetensors")
        values = json.loads((ARCH / case / "config.json").read_text("utf-8")) | config
        (tmp_path / "config.json").write_text(json.dumps(values), "utf-8")
        return tmp_path

    return make


def open_and_load(path: Path, **options: Any) -> tuple[Network, LoadReport]:
    return load_network(open_checkpoint(path), **options)


def test_the_report_lists_every_tensor_once() -> None:
    _, report = open_and_load(ARCH / "internlm2")
    names = [tensor.name for tensor in report.uploaded]
    assert sorted(names) == sorted(load_file(ARCH / "internlm2/model.safetensors"))
    assert report.skipped == {}
    assert (report.architecture, report.format, report.model_dtype) == ("internlm2", "safetensors", "bfloat16")
    assert report.parameters == 100_672
    assert report.summary() == (
        "internlm2 (safetensors), 100.7K parameters, 0.2 MB as BF16, computed in float32 (fast)"
    )


def test_known_inert_tensors_are_skipped_with_a_reason(changed: Callable[..., Path]) -> None:
    inert = {
        "model.layers.0.self_attn.rotary_emb.inv_freq": "rotary",
        "model.layers.1.self_attn.masked_bias": "mask",
        "model.layers.1.self_attn.bias": "mask",
        "lm_head.weight": "tied",
    }

    def add(tensors: Tensors) -> None:
        tensors.update(dict.fromkeys(inert, np.zeros((8, 3), np.float32)))

    network, report = open_and_load(changed("qwen2", add))
    assert report.skipped.keys() == inert.keys()
    assert all(word in report.skipped[name] for name, word in inert.items())
    prompt = golden(ARCH / "qwen2/golden.safetensors")[0]
    np.testing.assert_allclose(one_shot(network, prompt["input_ids"]), prompt["logits"], rtol=0, atol=2e-4)


def test_missing_left_over_and_wrong_shapes_come_in_one_error(changed: Callable[..., Path]) -> None:
    def damage(tensors: Tensors) -> None:
        del tensors["model.layers.0.mlp.up_proj.weight"]
        tensors["model.layers.7.mlp.up_proj.weight"] = np.zeros((1, 1), np.float32)
        tensors["visual.patch.weight"] = np.zeros((1, 1), np.float32)
        tensors["model.norm.weight"] = np.zeros(3, np.float32)

    path = changed("llama", damage)
    with pytest.raises(WeightsError) as caught:
        open_and_load(path)
    message = str(caught.value)
    assert str(path) in message
    assert "1 missing: model.layers.0.mlp.up_proj.weight" in message
    assert "2 left over: model.layers.7.mlp.up_proj.weight, visual.patch.weight" in message
    assert "1 of another shape: model.norm.weight is (3,), not (64,)" in message


def test_long_lists_are_cut_short(changed: Callable[..., Path]) -> None:
    with pytest.raises(WeightsError, match=r"18 missing: model\.layers\.3\..* and 13 more"):
        open_and_load(changed("llama", num_hidden_layers=5))
    with pytest.raises(WeightsError, match=r"9 left over: .* and 4 more"):
        open_and_load(changed("llama", num_hidden_layers=2))


@pytest.mark.parametrize("part", ["weight", "bias"])
def test_a_fused_matrix_must_hold_exactly_its_parts(changed: Callable[..., Path], part: str) -> None:
    def grow(tensors: Tensors) -> None:
        name = "model.layers.0.attention.wqkv."
        tensors[name + part] = np.zeros((130, 64)[: 2 if part == "weight" else 1], np.float32)

    with pytest.raises(WeightsError, match=rf"wqkv\.{part} is \(130"):
        open_and_load(changed("internlm2", grow))


def test_a_tied_model_needs_no_head_and_an_untied_one_does(changed: Callable[..., Path]) -> None:
    def drop(tensors: Tensors) -> None:
        del tensors["lm_head.weight"]

    with pytest.raises(WeightsError, match=r"1 missing: lm_head\.weight"):
        open_and_load(changed("llama", drop))
    network, _ = open_and_load(changed("llama", drop, tie_word_embeddings=None))
    assert network.config.tie_word_embeddings


def test_a_text_model_saved_alone_is_read_for_its_hidden_states(changed: Callable[..., Path]) -> None:
    def bare(tensors: Tensors) -> None:
        del tensors["lm_head.weight"]
        for name in list(tensors):
            tensors[name.removeprefix("model.")] = tensors.pop(name)

    def hidden(network: Network) -> NDArray[np.float32]:
        state = SequenceState(network.state_spec)
        return np.asarray(network.forward(Batch.pack([([1, 2, 3], state)])))

    whole, _ = open_and_load(ARCH / "llama")
    network, _ = open_and_load(changed("llama", bare))
    assert not network.config.tie_word_embeddings
    np.testing.assert_array_equal(hidden(network), hidden(whole))
    with pytest.raises(UnsupportedModelError, match="without an LM head"):
        network.logits(network.forward(Batch.pack([([1], SequenceState(network.state_spec))])))


def test_vectors_of_integers_are_no_weights(changed: Callable[..., Path]) -> None:
    def spoil(tensors: Tensors) -> None:
        tensors["model.norm.weight"] = np.zeros(64, np.int32)

    with pytest.raises(WeightsError, match=r"'model\.norm\.weight' holds int32"):
        open_and_load(changed("llama", spoil))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_dtype_converts_matrices_and_keeps_vectors_float32(dtype: str) -> None:
    network: Any = open_and_load(ARCH / "llama", dtype=dtype)[0]
    wanted = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    block = network.layers[0]
    assert block.mlp.up_proj.weight.array.dtype == wanted
    assert network.embed_tokens.weight.array.dtype == wanted
    assert block.input_layernorm.weight.array.dtype == np.float32


def test_stored_types_are_kept_without_a_copy() -> None:
    network: Any = open_and_load(ARCH / "llama")[0]
    weight = network.layers[0].mlp.up_proj.weight.array
    assert weight.dtype == ml_dtypes.bfloat16
    assert not weight.flags.owndata


def test_progress_counts_bytes_up_to_all_of_them() -> None:
    calls: list[tuple[int, int]] = []
    open_and_load(ARCH / "internlm2", progress=lambda done, total: calls.append((done, total)))
    total = sum(array.nbytes for array in load_file(ARCH / "internlm2/model.safetensors").values())
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    assert calls[-1] == (total, total)


def test_unknown_architectures_list_the_known(changed: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(UnsupportedModelError, match="'rwkv' is not implemented; known: internlm2, llama, mistral"):
        open_and_load(changed("llama", model_type="rwkv"))
    write_gguf(tmp_path / "model.gguf", {"general.architecture": "rwkv"}, {"x": np.zeros((1, 1), np.float32)})
    with pytest.raises(UnsupportedModelError, match="'rwkv' is not implemented; known: internlm2, llama, mistral"):
        open_and_load(tmp_path / "model.gguf")


def test_the_class_name_stands_in_for_a_missing_model_type(changed: Callable[..., Path]) -> None:
    _, report = open_and_load(changed("qwen2", model_type=None))
    assert report.architecture == "qwen2"


def test_a_gguf_must_name_its_architecture(tmp_path: Path) -> None:
    write_gguf(tmp_path / "model.gguf", {"general.name": "x"}, {"x": np.zeros((1, 1), np.float32)})
    with pytest.raises(ConfigError, match=r"general\.architecture"):
        open_and_load(tmp_path / "model.gguf")


def test_tensor_names_that_tell_nothing_are_said(tmp_path: Path) -> None:
    save_file({"a.b": np.zeros(3, np.float32)}, tmp_path / "model.safetensors")
    with pytest.raises(UnsupportedModelError, match=r"first names: a\.b"):
        open_and_load(tmp_path)


def test_an_unknown_dtype_is_refused() -> None:
    with pytest.raises(ParameterError, match="dtype is 'int4'"):
        open_and_load(ARCH / "llama", dtype="int4")


def test_ids_outside_the_vocabulary_are_refused_before_the_state_changes() -> None:
    network, _ = open_and_load(ARCH / "llama")
    for outside in (256, -1):
        state = SequenceState(network.state_spec, "float32")
        with pytest.raises(TokenizerError, match=f"token id {outside} is outside the vocabulary of 256"):
            network.forward(Batch.pack([([1, outside], state)]))
        assert (state.length, state.nbytes) == (0, 0)


def test_quantized_blocks_stay_as_the_file_holds_them() -> None:
    _, report = open_and_load(DATA / "gguf/models/llama-bpe-Q4_K_M.gguf")
    kinds = {tensor.dtype for tensor in report.uploaded}
    assert {"Q4_K", "Q6_K", "F32"} <= kinds
    assert report.nbytes < 0.8 * report.parameters
