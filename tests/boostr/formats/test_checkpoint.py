"""Which files of a directory are the model, and what is said when none or too many are."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from boostr.errors import FormatError, ModelNotFoundError
from boostr.formats import open_checkpoint
from boostr.formats.gguf import write_gguf

ONE = np.ones(1, np.float32)


def tensors(path: Path, name: str) -> Path:
    save_file({name: ONE}, path)
    return path


def gguf(path: Path, name: str) -> Path:
    write_gguf(path, {"general.architecture": "llama"}, {name: ONE})
    return path


def text(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value), "utf-8")
    return path


def test_an_index_wins_over_model_safetensors_over_gguf(tmp_path: Path) -> None:
    gguf(tmp_path / "m.gguf", "from gguf")
    assert open_checkpoint(tmp_path).names() == ["from gguf"]
    tensors(tmp_path / "only.safetensors", "from the only one")
    assert open_checkpoint(tmp_path).names() == ["from the only one"]
    tensors(tmp_path / "pytorch_model.safetensors", "from pytorch_model.safetensors")
    assert open_checkpoint(tmp_path).names() == ["from pytorch_model.safetensors"]
    tensors(tmp_path / "model.safetensors", "from model.safetensors")
    assert open_checkpoint(tmp_path).names() == ["from model.safetensors"]
    tensors(tmp_path / "shard", "from the index")
    text(tmp_path / "model.safetensors.index.json", {"weight_map": {"from the index": "shard"}})
    assert open_checkpoint(tmp_path).names() == ["from the index"]


def test_facts_of_a_safetensors_directory(tmp_path: Path) -> None:
    file = tensors(tmp_path / "model.safetensors", "w")
    text(tmp_path / "config.json", {"model_type": "llama"})
    model = open_checkpoint(tmp_path)
    assert (model.format, model.path, model.files) == ("safetensors", tmp_path, [file])
    assert (model.config, dict(model.metadata), model.directory) == ({"model_type": "llama"}, {}, tmp_path)


def test_a_file_finds_the_config_beside_it(tmp_path: Path) -> None:
    file = tensors(tmp_path / "model.safetensors", "w")
    assert open_checkpoint(file).config is None
    text(tmp_path / "config.json", {"model_type": "llama"})
    model = open_checkpoint(str(file))
    assert (model.path, model.directory, model.config) == (file, tmp_path, {"model_type": "llama"})


def test_facts_of_a_gguf_file_and_of_its_directory(tmp_path: Path) -> None:
    file = gguf(tmp_path / "m.gguf", "w")
    for path in (file, tmp_path):
        model = open_checkpoint(path)
        assert (model.format, model.path, model.files, model.directory) == ("gguf", path, [file], tmp_path)
        assert (model.metadata["general.architecture"], model.config) == ("llama", None)


def test_one_shard_stands_for_the_model_of_its_index(tmp_path: Path) -> None:
    shards = [tensors(tmp_path / f"model-0000{n}-of-00002.safetensors", f"w{n}") for n in (1, 2)]
    text(tmp_path / "model.safetensors.index.json", {"weight_map": {"w2": shards[1].name, "w1": shards[0].name}})
    assert open_checkpoint(shards[0]).names() == ["w2", "w1"]


@pytest.mark.parametrize("name", ["adapter_model.safetensors", "joint_head.safetensors", ".hidden.safetensors"])
def test_adapters_and_heads_are_not_read_as_the_model(tmp_path: Path, name: str) -> None:
    tensors(tmp_path / name, "lora")
    with pytest.raises(ModelNotFoundError):
        open_checkpoint(tmp_path)
    tensors(tmp_path / "nano_final.safetensors", "w")
    assert open_checkpoint(tmp_path).names() == ["w"]


def test_an_adapter_directory_names_its_base(tmp_path: Path) -> None:
    tensors(tmp_path / "adapter_model.safetensors", "lora")
    text(tmp_path / "adapter_config.json", {"base_model_name_or_path": "org/base"})
    with pytest.raises(ModelNotFoundError, match="only a LoRA adapter of org/base; load the base model"):
        open_checkpoint(tmp_path)
    tensors(tmp_path / "optimizer.safetensors", "x")
    with pytest.raises(ModelNotFoundError, match="only a LoRA adapter"):
        open_checkpoint(tmp_path)


def test_several_gguf_models_are_listed(tmp_path: Path) -> None:
    gguf(tmp_path / "a.gguf", "w")
    gguf(tmp_path / "b.gguf", "w")
    with pytest.raises(ModelNotFoundError, match=r"several GGUF models: a\.gguf, b\.gguf; name one"):
        open_checkpoint(tmp_path)


def test_a_vision_projector_beside_a_gguf_is_not_a_second_model(tmp_path: Path) -> None:
    gguf(tmp_path / "a.gguf", "w")
    gguf(tmp_path / "mmproj-a.gguf", "v")
    assert open_checkpoint(tmp_path).names() == ["w"]


def test_the_parts_of_a_split_gguf_are_one_model(tmp_path: Path) -> None:
    for no in range(2):
        write_gguf(tmp_path / f"m-0000{no + 1}-of-00002.gguf", {"split.no": no, "split.count": 2}, {f"w{no}": ONE})
    assert open_checkpoint(tmp_path).names() == ["w0", "w1"]


def test_several_safetensors_without_an_index_are_listed(tmp_path: Path) -> None:
    tensors(tmp_path / "a.safetensors", "w")
    tensors(tmp_path / "b.safetensors", "w")
    with pytest.raises(ModelNotFoundError, match=r"several SafeTensors.*a\.safetensors, b\.safetensors; name one"):
        open_checkpoint(tmp_path)


def test_an_empty_directory_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"holds no model: no model\.safetensors\.index\.json"):
        open_checkpoint(tmp_path)


def test_pickles_are_refused_with_the_reason(tmp_path: Path) -> None:
    file = tmp_path / "pytorch_model.bin"
    file.write_bytes(b"PK\x03\x04" + bytes(60))
    with pytest.raises(FormatError, match="can run code and are not read; use the SafeTensors"):
        open_checkpoint(file)
    with pytest.raises(ModelNotFoundError, match="only PyTorch pickles"):
        open_checkpoint(tmp_path)


def test_other_names_are_recognised_by_content(tmp_path: Path) -> None:
    assert open_checkpoint(gguf(tmp_path / "blob", "g")).names() == ["g"]
    assert open_checkpoint(tensors(tmp_path / "sha256-abc", "s")).names() == ["s"]
    (tmp_path / "notes.txt").write_text("hello world, this is text", "utf-8")
    with pytest.raises(FormatError, match=r"not a GGUF or SafeTensors file \(starts with 'hello world"):
        open_checkpoint(tmp_path / "notes.txt")


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    for name in ("gone.gguf", "gone.bin", "gone", "x" * 5000, "a\0b"):
        with pytest.raises(ModelNotFoundError, match="does not exist"):
            open_checkpoint(tmp_path / name)


def test_a_broken_config_is_named(tmp_path: Path) -> None:
    tensors(tmp_path / "model.safetensors", "w")
    (tmp_path / "config.json").write_text("{", "utf-8")
    with pytest.raises(FormatError, match=r"config\.json: not valid JSON"):
        open_checkpoint(tmp_path)
