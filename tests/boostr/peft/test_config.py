"""What adapter_config.json says of ranks and scales, and how its patterns choose modules."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostr.errors import AdapterFormatError
from boostr.peft import PeftAdapter
from boostr.peft.patterns import check_pattern, value_of
from tests.boostr.peft.adapters import LORA, altered

# As peft 0.21.2 answers for the same keys.
MATCHES = [
    ("q_proj", "model.layers.0.self_attn.q_proj", True),
    ("_proj", "model.layers.0.self_attn.q_proj", False),
    ("self_attn.q_proj", "model.layers.10.self_attn.q_proj", True),
    ("layers.1.self_attn.q_proj", "model.layers.11.self_attn.q_proj", False),
    ("layers.0", "model.layers.0.self_attn.q_proj", False),
    (r"layers\.\d+\..*k_proj", "model.layers.3.self_attn.k_proj", True),
    (r"^model\.layers\.2\.mlp\.up_proj$", "model.layers.2.mlp.up_proj", True),
    (r"^layers\.2\.mlp\.up_proj$", "model.layers.2.mlp.up_proj", False),
    ("(q|k)_proj", "model.layers.2.self_attn.k_proj", True),
    ("x|q_proj", "model.layers.2.self_attn.q_proj", True),
    ("lm_head", "lm_head", True),
    (".*", "lm_head", True),
]


@pytest.mark.parametrize(("key", "module", "matches"), MATCHES)
def test_a_key_matches_the_whole_path_or_its_end_after_a_dot(key: str, module: str, matches: bool) -> None:
    check_pattern(key, "rank_pattern")
    assert value_of({key: 2}, module, 4) == (2 if matches else 4)


def test_the_first_key_that_matches_wins() -> None:
    assert value_of({"v_proj": 1, "q_proj": 2, ".*": 3}, "model.q_proj", 4) == 2
    assert value_of({".*": 3, "q_proj": 2}, "model.q_proj", 4) == 3


@pytest.mark.parametrize(
    "key",
    [
        "(a+)+b",
        "(a|a)(a|a)(a|a)(a|a)b",
        "a?a?a?a?a?aaaaa",
        "(.*.*)*x",
        ".*.*.*.*x",
        "(?:q)+",
        r"(q)\1",
        "x" * 201,
        "a{3}b*c+d?",
    ],
)
def test_patterns_that_could_run_away_are_refused(key: str) -> None:
    with pytest.raises(AdapterFormatError, match=r"rank_pattern: the pattern .* is too involved"):
        check_pattern(key, "rank_pattern")


def test_the_worst_pattern_taken_ends_soon() -> None:
    key = ".*.*.*x"
    check_pattern(key, "rank_pattern")
    started = time.perf_counter()
    value_of({key: 2}, "a." * 60, 1)
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize(
    ("config", "scale"),
    [
        ({}, 8 / 4),
        ({"lora_alpha": 3.5}, 3.5 / 4),
        ({"use_rslora": True}, 8 / 4**0.5),
        ({"alpha_pattern": {"q_proj": 6}}, 6 / 4),
        ({"alpha_pattern": {"k_proj": 6}}, 8 / 4),
        ({"alpha_pattern": {"q_proj": 6}, "use_rslora": True}, 6 / 4**0.5),
        ({"r": 2, "rank_pattern": {"(q|v)_proj": 4}}, 8 / 4),
        ({"lora_dropout": 0.1, "megatron_config": None, "something_new": {"a": 1}, "target_modules": "all-linear"}, 2),
        ({"rank_pattern": None, "alpha_pattern": None, "bias": None, "init_lora_weights": "gaussian"}, 2),
    ],
)
def test_scales(config: dict[str, Any], scale: float, tmp_path: Path) -> None:
    adapter = PeftAdapter.load(altered("llama_plain", tmp_path / "adapter", config))
    assert adapter.modules["model.layers.0.self_attn.q_proj"].scale == pytest.approx(scale, rel=1e-12)


def test_what_an_adapter_tells_of_itself() -> None:
    adapter = PeftAdapter.load(LORA / "llama_patterns")
    assert adapter.path == LORA / "llama_patterns"
    assert (adapter.name, adapter.rank, adapter.module_count) == ("llama_patterns", 8, 21)
    assert adapter.base_model_name == "../../arch/llama"
    assert adapter.config["rank_pattern"]["q_proj"] == 2
    assert adapter.modules["model.layers.1.self_attn.q_proj"].a.shape == (2, 64)
    assert adapter.nbytes == sum(m.a.size + m.b.size for m in adapter.modules.values()) * 4


def test_its_weights_file_names_an_adapter_too() -> None:
    assert PeftAdapter.load(LORA / "llama_plain/adapter_model.safetensors").name == "llama_plain"


def test_an_adapter_does_not_change_with_its_file(tmp_path: Path) -> None:
    path = altered("llama_plain", tmp_path / "adapter", {})
    adapter = PeftAdapter.load(path)
    before = [np.array(module.a) for module in adapter.modules.values()]
    file = path / "adapter_model.safetensors"
    with file.open("r+b") as stream:
        stream.write(b"\xff" * file.stat().st_size)
    for module, a in zip(adapter.modules.values(), before, strict=True):
        np.testing.assert_array_equal(np.asarray(module.a), a)


# Each alone may be taken; together they would keep a server busy for hours.
TOO_MUCH = {
    "long paths": ({".*.*.*x": 4}, ["a." * 1000]),
    "many modules": ({".*.*.*x": 4}, [f"model.layers.{n}.self_attn.q_proj.{'a.' * 50}" for n in range(300)]),
    "many keys": ({f"layers.{n}.q_proj": 4 for n in range(4000)}, [f"model.layers.{n}.k_proj" for n in range(4000)]),
    "alternatives": ({f"({'.|' * 40}q)({'.|' * 40}q).*.*.*x": 4}, [f"layers.{n}." + "a." * 20 for n in range(50)]),
}


@pytest.mark.parametrize("case", TOO_MUCH)
def test_patterns_and_modules_that_would_take_hours_are_refused(case: str, tmp_path: Path) -> None:
    patterns, modules = TOO_MUCH[case]
    for key in patterns:
        check_pattern(key, "rank_pattern")
    matrices = {
        f"base_model.model.{name}.lora_{side}.weight": np.zeros(shape, np.float32)
        for name in modules
        for side, shape in (("A", (4, 1)), ("B", (1, 4)))
    }
    for pattern in ("rank_pattern", "alpha_pattern"):
        path = altered("llama_plain", tmp_path / pattern, {pattern: patterns}, **matrices)
        with pytest.raises(AdapterFormatError, match=rf"adapter_config\.json: {pattern}: .* would take very long"):
            PeftAdapter.load(path)


def test_more_keys_than_any_model_needs_are_refused(tmp_path: Path) -> None:
    path = altered("llama_plain", tmp_path / "adapter", {"rank_pattern": {f"m{n}": 4 for n in range(4097)}})
    with pytest.raises(AdapterFormatError, match=r"adapter_config\.json: rank_pattern has 4097 patterns; 4096 are"):
        PeftAdapter.load(path)


def test_a_key_for_each_module_of_a_large_model_is_taken(tmp_path: Path) -> None:
    names = [f"model.layers.{n}.self_attn.{part}_proj" for n in range(80) for part in "qkvogud"]
    matrices = {
        f"base_model.model.{name}.lora_{side}.weight": np.zeros(shape, np.float32)
        for name in names
        for side, shape in (("A", (2, 1)), ("B", (1, 2)))
    }
    path = altered("llama_plain", tmp_path / "adapter", {"rank_pattern": dict.fromkeys(names, 2)}, **matrices)
    assert PeftAdapter.load(path).modules[names[-1]].a.shape == (2, 1)
