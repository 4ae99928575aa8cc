"""head.pt and what lies beside it: what is read of them, what is refused, and where the base is looked for."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boostr.decision.kev import Kev, KevConfig
from boostr.decision.load import find_base
from boostr.errors import BoostrError, ConfigError, FormatError, ModelNotFoundError
from tests.boostr.formats.raw_torch import EMPTY_HOOKS, FLOATS, packed, program, save_torch, value

from .goldens import DATA, head_alone

KEV = DATA / "e2e" / "kev-tiny"
COMMITS = "a" * 40, "b" * 40


def tensors(rows: int = 4, width: int = 6) -> dict[str, Any]:
    matrix = np.arange(rows * width, dtype=np.float32).reshape(rows, width)
    return {"q.weight": matrix, "q.bias": matrix[:, 0].copy(), "k.weight": -matrix, "k.bias": matrix[:, 1].copy()}


def written(directory: Path, values: dict[str, Any], head: dict[str, Any] | None = None) -> Path:
    save_torch(directory / "head.pt", {"base": "vendor/base", **values}, tensors() if head is None else head)
    (directory / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "vendor/base"}))
    return directory


def test_an_adapter_release() -> None:
    config = KevConfig.read(KEV)
    assert (config.weights, config.rank, config.bases) == ("lora", 4, (config.base,))
    assert config.temperature == 2.3510958125672174
    assert Kev.recognise(KEV, {})
    assert not Kev.recognise(DATA / "e2e" / "base", {})


def test_the_first_releases_said_less(tmp_path: Path) -> None:
    config = KevConfig.read(head_alone("legacy", tmp_path))
    assert (config.weights, config.temperature, config.base_revision) == ("lora", 1.0, None)


def test_both_names_of_a_base_count_and_the_heads_comes_first(tmp_path: Path) -> None:
    written(tmp_path, {})
    (tmp_path / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "other/name"}))
    assert KevConfig.read(tmp_path).bases == ("vendor/base", "other/name")


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"temperature": 0.0}, "temperature is 0.0; it must be a finite number > 0"),
        ({"temperature": float("nan")}, "temperature is nan"),
        ({"temperature": float("inf")}, "temperature is inf"),
        ({"temperature": True}, "temperature is True"),
        ({"temperature": "1"}, "temperature is '1'"),
        ({"temperature": [[1.0]]}, "temperature is a list"),
        ({"base": None}, "base is None; it must be a text"),
        ({"base": ""}, "base is ''"),
        ({"base": {}}, "base is a dict"),
        ({"base_revision": 5}, "base_revision is 5"),
        ({"lora": -1}, "lora is -1; it must be a whole number"),
        ({"lora": "16"}, "lora is '16'"),
        ({"head_dim": 1.5}, "head_dim is 1.5"),
        ({"weights": "half"}, "weights is 'half'; it must be 'lora' or 'full'"),
        ({"weights_dtype": "fp8"}, "weights_dtype is 'fp8'"),
        ({"option_isolation": True}, "says option_isolation"),
        ({"special_embeddings": True}, "says special_embeddings"),
        ({"special_embeddings": EMPTY_HOOKS}, "says special_embeddings"),
    ],
)
def test_what_cannot_be_served_is_refused_by_key(tmp_path: Path, values: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as refused:
        KevConfig.read(written(tmp_path, values))
    assert "head.pt" in str(refused.value)


@pytest.mark.parametrize("key", ["temperature", "base", "base_revision", "lora", "weights", "head_dim", "head"])
def test_a_hostile_value_is_not_written_out(tmp_path: Path, key: str) -> None:
    doubled = b"(]q\x00" + b"(h\x00h\x00tq\x00" * 60 + b"t"  # 2**60 values to whoever goes through it
    with pytest.raises(BoostrError) as refused:
        KevConfig.read(written(tmp_path, {key: doubled}))
    assert len(str(refused.value)) < 1000


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"q.weight": None}, "does not hold Kev's head tensors"),
        ({"v.weight": np.zeros((4, 6), np.float32)}, "and no others"),
        ({"q.bias": np.full(4, np.nan, np.float32)}, "finite numbers"),
        ({"k.weight": np.full((4, 6), np.inf, np.float32)}, "finite numbers"),
        ({"k.weight": np.zeros((4, 7), np.float32)}, "do not fit each other"),
        ({"k.bias": np.zeros(5, np.float32)}, "do not fit each other"),
        ({"q.weight": np.zeros(24, np.float32)}, "do not fit each other"),
    ],
)
def test_heads_that_are_none(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    head = {name: each for name, each in (tensors() | change).items() if each is not None}
    with pytest.raises(FormatError, match=reason):
        KevConfig.read(written(tmp_path, {}, head))


def test_a_head_dim_that_its_tensors_contradict(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="says head_dim 256 and holds a head of 4"):
        KevConfig.read(written(tmp_path, {"head_dim": 256}))
    assert KevConfig.read(written(tmp_path, {"head_dim": 4})).head.q_weight.shape == (4, 6)


def test_files_that_hold_no_head(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"has no head\.pt"):
        KevConfig.read(tmp_path)
    for content in (b"}", b"]", value({"head": None}), value({"head": FLOATS}), FLOATS):
        packed(tmp_path / "head.pt", program(content))
        with pytest.raises(FormatError, match="holds no head"):
            KevConfig.read(tmp_path)


def test_the_form_that_head_and_directory_tell_must_be_one(tmp_path: Path) -> None:
    written(tmp_path, {"weights": "full"})
    with pytest.raises(ConfigError, match=r"head\.pt says weights='full' but the directory holds an adapter"):
        KevConfig.read(tmp_path)
    (tmp_path / "adapter_config.json").unlink()
    with pytest.raises(ConfigError, match="weights='full' but the directory holds neither an adapter nor backbone"):
        KevConfig.read(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model-00001-of-00001.safetensors").write_bytes(b"")
    assert KevConfig.read(tmp_path).weights == "full"
    save_torch(tmp_path / "head.pt", {"base": "b"}, tensors())
    with pytest.raises(ConfigError, match="weights='lora' but the directory holds backbone weights"):
        KevConfig.read(tmp_path)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A hub cache with two commits of vendor/base, the first of which is its main."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    repository = tmp_path / "hub" / "models--vendor--base"
    for commit in COMMITS:
        (repository / "snapshots" / commit).mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMITS[0])
    return repository / "snapshots"


def test_the_cache_is_asked_for_the_commit_first(cache: Path, tmp_path: Path) -> None:
    kev = tmp_path / "models" / "kev"
    kev.mkdir(parents=True)
    assert find_base(kev, ("vendor/base",), None) == cache / COMMITS[0]
    assert find_base(kev, ("vendor/base",), None, COMMITS[1]) == cache / COMMITS[1]
    assert find_base(kev, ("vendor/base",), None, "c" * 40) == cache / COMMITS[0]
    assert find_base(kev, ("vendor/none", "vendor/base"), None) == cache / COMMITS[0]
    (kev.parent / "base").mkdir()
    assert find_base(kev, ("vendor/base",), None, COMMITS[1]) == kev.parent / "base"
    assert find_base(kev, ("vendor/base",), cache / COMMITS[1]) == cache / COMMITS[1]


def test_an_adapter_is_not_its_own_base(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kev = tmp_path / "models" / "kev"
    kev.mkdir(parents=True)
    monkeypatch.chdir(kev)
    for directory in (kev, Path()):
        with pytest.raises(ModelNotFoundError, match="pull it, or give base"):
            find_base(directory, ("someone/kev",), None)


def test_a_base_is_found_for_the_commit_that_the_head_names(cache: Path, tmp_path: Path) -> None:
    from boostr.decision.load import load

    kev = tmp_path / "models" / "kev"
    shutil.copytree(KEV, kev)
    shutil.copytree(DATA / "e2e" / "base", cache / COMMITS[1], dirs_exist_ok=True)
    head = KevConfig.read(KEV).head
    parts = {"q.weight": head.q_weight, "q.bias": head.q_bias, "k.weight": head.k_weight, "k.bias": head.k_bias}
    save_torch(
        kev / "head.pt",
        {"base": "vendor/base", "base_revision": COMMITS[1], "lora": 4},
        {name: each.astype(np.float32) for name, each in parts.items()},
    )
    model = load(kev)
    assert model.decide("s", {"q": {"type": "noul"}})["answers"]["q"]["type"] == "noul"
    assert model.model.base is not None
    assert model.model.base.report.path == cache / COMMITS[1]
    model.close()
