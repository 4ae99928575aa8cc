"""Which files of a release are taken."""

import pytest

from blazr.errors import PullError
from blazr.lifecycle.pull.choose import companions, gguf_files, safetensors_files


def test_the_preferred_quantization() -> None:
    names = ["m.Q2_K.gguf", "m-Q4_K_M.gguf", "m.q8_0.gguf", "mmproj-m-Q4_K_M.gguf"]
    assert gguf_files(names, "repo") == ["m-Q4_K_M.gguf"]
    assert gguf_files(["m.Q2_K.gguf", "m.q8_0.gguf"], "repo") == ["m.q8_0.gguf"]


def test_a_name_is_not_mistaken_for_a_quantization() -> None:
    assert gguf_files(["Q8_0x.gguf"], "repo") == ["Q8_0x.gguf"]
    with pytest.raises(PullError, match=r"choose with --file: a\.gguf, bQ4_0\.gguf"):
        gguf_files(["a.gguf", "bQ4_0.gguf"], "repo")


def test_every_part_of_a_split_file() -> None:
    parts = [f"m-Q8_0-0000{n}-of-00003.gguf" for n in (1, 2, 3)]
    assert gguf_files([*parts, "m-Q2_K.gguf"], "repo") == parts
    assert gguf_files(parts, "repo", parts[1]) == parts
    with pytest.raises(PullError, match="should have 3 parts and 2 are there"):
        gguf_files(parts[:2], "repo")


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(PullError, match=r"repo has no file b\.gguf \(--file\); it has a\.gguf"):
        gguf_files(["a.gguf"], "repo", "b.gguf")
    with pytest.raises(PullError, match="repo holds no model files"):
        gguf_files(["README.md"], "repo")


def test_the_one_weights_file_without_an_index() -> None:
    assert safetensors_files(["a.safetensors", "model.safetensors"], "repo") == ["model.safetensors"]
    assert safetensors_files(["a.safetensors"], "repo") == ["a.safetensors"]
    with pytest.raises(PullError, match="choose with --file"):
        safetensors_files(["a.safetensors", "b.safetensors"], "repo")


def test_companions_are_configuration_tokenizer_and_licence() -> None:
    names = ["config.json", "LICENSE", "LICENSE.md", "licence-extra.txt", "train.py", "tokenizer.model", "model.bin"]
    assert companions(names) == ["LICENSE", "LICENSE.md", "config.json", "licence-extra.txt", "tokenizer.model"]
