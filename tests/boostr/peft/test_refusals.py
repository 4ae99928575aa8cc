"""Adapters that cannot be applied are refused, each with its own message that names file and key."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from boostr.errors import AdapterError, AdapterFormatError, AdapterMismatchError, AdapterNotFoundError
from boostr.peft import PeftAdapter
from tests.boostr.models.networks import ARCH
from tests.boostr.peft.adapters import LORA, PREFIX, altered, base, random_update, variant, write_adapter

Q = PREFIX + "model.layers.0.self_attn.q_proj"

MALFORMED: dict[str, tuple[type[AdapterError], str]] = {
    "bad_bias_all": (AdapterFormatError, r"adapter_config\.json: bias is 'all'"),
    "bad_bin_only": (AdapterFormatError, r"adapter_model\.bin is a pickle.*safe_serialization"),
    "bad_fan_in_fan_out": (AdapterFormatError, r"adapter_config\.json: fan_in_fan_out is True: .*transposed"),
    "bad_lora_bias": (AdapterFormatError, r"adapter_config\.json: lora_bias is True"),
    "bad_missing_alpha": (AdapterFormatError, r"adapter_config\.json has no lora_alpha"),
    "bad_missing_r": (AdapterFormatError, r"adapter_config\.json has no r:"),
    "bad_modules_to_save": (AdapterFormatError, r"adapter_config\.json: modules_to_save is \['lm_head'\]"),
    "bad_no_weights": (AdapterFormatError, r"bad_no_weights has no adapter_model\.safetensors"),
    "bad_peft_type": (AdapterFormatError, r"adapter_config\.json: peft_type is 'LOHA'"),
    "bad_r_zero": (AdapterFormatError, r"adapter_config\.json: r is 0, but must be a whole number of at least 1"),
    "bad_rank_mismatch_AB": (
        AdapterFormatError,
        r"\.safetensors: 'model\.layers\.0\.self_attn\.q_proj' has rank 3 by its lora_A \(3, 64\), but 4 by its lora_B",
    ),
    "bad_shape_mismatch": (
        AdapterMismatchError,
        r"'model\.layers\.0\.self_attn\.q_proj\.lora_A\.weight' has 48 input features, but that module of .* has 64",
    ),
    "bad_unknown_module": (AdapterMismatchError, r"not among them: 'model\.layers\.99\.self_attn\.q_proj"),
    "bad_unpaired_lora_A": (AdapterFormatError, r"q_proj\.lora_A\.weight' has no lora_B beside it"),
    "bad_unpaired_lora_B": (AdapterFormatError, r"q_proj\.lora_B\.weight' has no lora_A beside it"),
    "bad_use_dora": (AdapterFormatError, r"adapter_config\.json: use_dora is True: DoRA"),
}


def test_every_malformed_adapter_is_here() -> None:
    assert {path.name for path in LORA.glob("bad_*")} == set(MALFORMED)


@pytest.mark.parametrize("name", sorted(MALFORMED))
def test_malformed_adapters(name: str) -> None:
    kind, message = MALFORMED[name]
    with pytest.raises(kind, match=message) as refusal:
        base("llama").derive_with_adapter(PeftAdapter.load(LORA / name))
    assert str(LORA / name) in str(refusal.value)
    assert refusal.type is kind


def test_no_two_of_them_read_alike() -> None:
    messages = set()
    for name in MALFORMED:
        with pytest.raises(AdapterError) as refusal:
            base("llama").derive_with_adapter(PeftAdapter.load(LORA / name))
        messages.add(str(refusal.value).replace(name, ""))
    assert len(messages) == len(MALFORMED)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"r": 4.0}, "r is 4.0, but must be a whole number"),
        ({"r": True}, "r is True, but must be a whole number"),
        ({"r": "4"}, "r is '4', but must be a whole number"),
        ({"r": 8}, r"'model\.layers\.0\.self_attn\.q_proj' has rank 4, but adapter_config.json says 8"),
        ({"lora_alpha": None}, "lora_alpha is None, but must be a number"),
        ({"lora_alpha": float("nan")}, "lora_alpha is nan, but must be a number"),
        ({"lora_alpha": 0}, "lora_alpha is 0, but must be a number other than 0"),
        ({"peft_type": None}, "peft_type is None; only 'LORA'"),
        ({"bias": "lora_only"}, "bias is 'lora_only'"),
        ({"trainable_token_indices": [1, 2]}, "trainable_token_indices is"),
        ({"layer_replication": [[0, 2]]}, "layer_replication is"),
        ({"target_parameters": ["mlp.experts.gate_up_proj"]}, "target_parameters is"),
        ({"alora_invocation_tokens": [5]}, "alora_invocation_tokens is"),
        ({"init_lora_weights": "pissa_niter_4"}, "init_lora_weights is 'pissa_niter_4', which changes the base"),
        ({"rank_pattern": [4]}, "rank_pattern must map module patterns to numbers"),
        ({"rank_pattern": {"q_proj": 0}}, "rank_pattern gives 'q_proj' the value 0"),
        ({"alpha_pattern": {"q_proj": "2"}}, "alpha_pattern gives 'q_proj' the value '2'"),
        ({"alpha_pattern": {"q_(proj": 2}}, r"alpha_pattern: the pattern 'q_\(proj' is no regular expression"),
    ],
)
def test_settings_that_cannot_be(config: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(AdapterFormatError, match=message):
        PeftAdapter.load(altered("llama_plain", tmp_path / "adapter", config))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (PREFIX + "model.embed_tokens.lora_embedding_A", "adapters of embeddings are not implemented"),
        (PREFIX + "lm_head.base_layer.weight", "a copy of the base's weights; save .* save_embedding_layers=False"),
        (PREFIX + "model.embed_tokens.weight", "replaces the base's embeddings"),
        (Q + ".lora_magnitude_vector", "belongs to DoRA"),
        (Q + ".lora_B.bias", "trained biases are not implemented"),
        ("model.layers.0.self_attn.q_proj.lora_A.weight", r"named base_model\.model\.….lora_A\.weight"),
        (PREFIX + "something", r"tensor 'base_model\.model\.something' is no part of a LoRA adapter"),
    ],
)
def test_tensors_of_other_kinds(name: str, message: str, tmp_path: Path) -> None:
    path = altered("llama_plain", tmp_path / "adapter", {}, **{name: np.zeros((4, 64), np.float32)})
    with pytest.raises(AdapterFormatError, match=message):
        PeftAdapter.load(path)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((4, 64), np.int32), r"q_proj\.lora_A\.weight' is I32 \[4, 64\]; a matrix in F32"),
        (np.zeros((4, 8, 8), np.float32), r"is F32 \[4, 8, 8\]; a matrix"),
        (np.zeros((0, 64), np.float32), r"is F32 \[0, 64\]; a matrix"),
        (np.full((4, 64), np.inf, np.float32), "holds NaN or infinity"),
    ],
)
def test_matrices_that_are_none(array: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(AdapterFormatError, match=message):
        PeftAdapter.load(altered("llama_plain", tmp_path / "adapter", {}, **{Q + ".lora_A.weight": array}))


def test_files_that_are_missing_or_broken(tmp_path: Path) -> None:
    with pytest.raises(AdapterNotFoundError, match="nowhere does not exist: an adapter is a directory"):
        PeftAdapter.load(tmp_path / "nowhere")
    path = altered("llama_plain", tmp_path / "adapter", {})
    with pytest.raises(AdapterNotFoundError, match=r"adapter_config\.json is a file: an adapter is a directory"):
        PeftAdapter.load(path / "adapter_config.json")
    (path / "adapter_config.json").write_text("{", "utf-8")
    with pytest.raises(AdapterFormatError, match=r"adapter_config\.json: not valid JSON"):
        PeftAdapter.load(path)
    (path / "adapter_config.json").unlink()
    with pytest.raises(AdapterFormatError, match=r"adapter has no adapter_config\.json"):
        PeftAdapter.load(path)


HEAD = PREFIX + "lm_head.base_layer.weight"


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_a_copy_of_the_base_that_came_along_is_compared_and_not_kept(dtype: Any, tmp_path: Path) -> None:
    weight = np.asarray(load_file(ARCH / "llama/model.safetensors")["lm_head.weight"], np.float32)
    plain = PeftAdapter.load(LORA / "llama_lm_head")
    adapter = PeftAdapter.load(altered("llama_lm_head", tmp_path / "same", {}, **{HEAD: weight.astype(dtype)}))
    assert (adapter.module_count, adapter.nbytes) == (plain.module_count, plain.nbytes)
    found, expected = (base("llama").derive_with_adapter(one).logits([1, 2, 3]) for one in (adapter, plain))
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


@pytest.mark.parametrize(
    "change", [lambda w: w[:-1], lambda w: w[::-1], lambda w: 1.1 * w], ids=["cut", "moved", "trained"]
)
def test_a_copy_of_another_base_is_refused(change: Any, tmp_path: Path) -> None:
    weight = np.asarray(load_file(ARCH / "llama/model.safetensors")["lm_head.weight"], np.float32)
    path = altered("llama_lm_head", tmp_path / "other", {}, **{HEAD: np.ascontiguousarray(change(weight))})
    with pytest.raises(AdapterMismatchError, match=r"'lm_head\.base_layer\.weight' .* holds other weights than"):
        base("llama").derive_with_adapter(PeftAdapter.load(path))


def test_names_in_messages_are_escaped_and_cut(tmp_path: Path) -> None:
    path = altered("llama_plain", tmp_path / "adapter", {}, **{"bad\n\x1b[31m" + "x" * 5000: np.zeros(3, np.float32)})
    with pytest.raises(AdapterFormatError) as refusal:
        PeftAdapter.load(path)
    assert "\n" not in str(refusal.value)
    assert "\x1b" not in str(refusal.value)
    assert len(str(refusal.value)) < 1000


def test_an_empty_weights_file(tmp_path: Path) -> None:
    path = altered("llama_plain", tmp_path / "adapter", {})
    save_file({}, path / "adapter_model.safetensors")
    with pytest.raises(AdapterFormatError, match="holds no tensors"):
        PeftAdapter.load(path)


def test_truncated_weights_are_refused_wherever_they_end(tmp_path: Path) -> None:
    path = altered("llama_plain", tmp_path / "adapter", {})
    file = path / "adapter_model.safetensors"
    whole = file.read_bytes()
    for size in [0, 1, 7, 8, 9, 100, len(whole) // 2, len(whole) - 1]:
        file.write_bytes(whole[:size])
        with pytest.raises(AdapterFormatError, match=r"adapter_model\.safetensors"):
            PeftAdapter.load(path)


def test_an_adapter_of_no_module_of_the_base_names_three_of_each_side(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    names = [f"transformer.h.{n}.attn.c_attn" for n in range(5)]
    adapter = write_adapter(tmp_path / "other", {name: random_update((64, 64), rng) for name in names})
    with pytest.raises(AdapterMismatchError) as refusal:
        base("llama").derive_with_adapter(adapter)
    message = str(refusal.value)
    assert "0 of its 5 modules" in message
    of_base = [f"model.layers.0.self_attn.{part}_proj" for part in "qkvo"]
    assert [name in message for name in of_base] == [True, True, True, False]
    assert [name in message for name in names] == [True, True, True, False, False]
    assert "trained on 'somebody/base'" in message


@pytest.mark.parametrize("name", ["model.embed_tokens", "model.norm", "model.layers.0.input_layernorm", "layers", "0"])
def test_modules_that_are_no_linear_maps(name: str, tmp_path: Path) -> None:
    adapter = write_adapter(tmp_path / "adapter", {name: random_update((64, 64), np.random.default_rng(1))})
    with pytest.raises(AdapterMismatchError, match="0 of its 1 modules are linear maps"):
        base("llama").derive_with_adapter(adapter)


def test_output_features_must_fit(tmp_path: Path) -> None:
    update = random_update((48, 64), np.random.default_rng(1))
    adapter = write_adapter(tmp_path / "adapter", {"model.layers.1.mlp.up_proj": update})
    with pytest.raises(AdapterMismatchError, match=r"lora_B\.weight' has 48 output features, .* has 112"):
        base("llama").derive_with_adapter(adapter)


def test_one_module_under_two_names(tmp_path: Path) -> None:
    update = random_update((64, 64), np.random.default_rng(1))
    names = ("model.layers.0.self_attn.q_proj", "layers.0.self_attn.q_proj")
    adapter = write_adapter(tmp_path / "adapter", dict.fromkeys(names, update))
    with pytest.raises(AdapterMismatchError, match=r"q_proj' is a second update of a module it already has"):
        base("llama").derive_with_adapter(adapter)


def test_a_variant_has_no_variants() -> None:
    with pytest.raises(AdapterError, match="llama:llama_plain is itself a variant: derive llama_rslora from llama"):
        variant("llama_plain").derive_with_adapter(PeftAdapter.load(LORA / "llama_rslora"))


def test_a_safetensors_file_wins_over_a_pickle_beside_it(tmp_path: Path) -> None:
    path = altered("llama_plain", tmp_path / "adapter", {})
    shutil.copyfile(LORA / "bad_bin_only/adapter_model.bin", path / "adapter_model.bin")
    assert PeftAdapter.load(path).module_count == len(load_file(path / "adapter_model.safetensors")) // 2
