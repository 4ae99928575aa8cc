"""Loading the committed checkpoints and reading logits, for the tests of this folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

import numr
from boostr.formats import open_checkpoint
from boostr.models import Network, load_network
from boostr.state import Batch, SequenceState

DATA = Path(__file__).parents[2] / "data"
ARCH = DATA / "arch"
Logits = NDArray[np.float32]

# Where two ways of computing float32 logits of size 5 may differ: a few times what summation order does. Without native
# kernels BLAS multiplies, whose order of sums follows the number of rows, and delta nets enlarge that to 2.5e-4.
FLOAT32_TOLERANCE = 4e-4 if numr.show_config()["level"] == "none" else 1e-4


def load(path: Path, **options: Any) -> Network:
    return load_network(open_checkpoint(path), **options)[0]


def golden(path: Path) -> list[dict[str, Any]]:
    """Prompt ids, logits (n, vocab) and greedy continuation, per prompt, from transformers in float32."""
    tensors = load_file(path)
    keys = ("input_ids", "logits", "greedy")
    count = sum(name.startswith("input_ids") for name in tensors)
    return [{key: tensors[f"{key}_{i}"] for key in keys} for i in range(count)]


def run(network: Network, ids: Sequence[int] | NDArray[np.int64], state: SequenceState) -> Logits:
    """Logits after each of `ids`, which follow what `state` has read."""
    batch = Batch.pack([(np.asarray(ids).tolist(), state)], read="all")
    return np.asarray(network.logits(network.forward(batch)))


def one_shot(network: Network, ids: Sequence[int] | NDArray[np.int64], cache_dtype: str = "float32") -> Logits:
    return run(network, ids, SequenceState(network.state_spec, cache_dtype))


def greedy(network: Network, ids: Sequence[int] | NDArray[np.int64], count: int) -> tuple[list[int], list[float]]:
    """(`count` tokens, the margin of each over the runner-up), decoded one by one."""
    state = SequenceState(network.state_spec, "float32")
    tokens: list[int] = []
    margins: list[float] = []
    following = np.asarray(ids).tolist()
    for _ in range(count):
        logits = np.asarray(network.logits(network.forward(Batch.pack([(following, state)]))))[0]
        second, first = np.sort(logits)[-2:]
        tokens.append(int(logits.argmax()))
        margins.append(float(first - second))
        following = tokens[-1:]
    return tokens, margins


def assert_same_until_near_tie(found: list[int], margins: list[float], expected: list[int], tie: float) -> None:
    """Equal tokens, up to the first step whose margin is below `tie`: from there both may be right."""
    clear = next((step for step, margin in enumerate(margins) if margin < tie), len(margins))
    assert found[:clear] == expected[:clear]
