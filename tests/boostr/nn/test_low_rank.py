"""Low-rank updates: the kernel at every level and NumPy against float64; rows do not depend on their company."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostr.nn import Linear, LinearGroup, LowRank, SpanAdapter, kernels
from boostr.nn.low_rank import add_updates
from boostr.state import AdaptedRows
from numr import Tensor
from numr.native.levels import supported

Floats = NDArray[np.float32]
SHAPES = [(1, 1, 1), (5, 7, 2), (64, 48, 4), (33, 300, 3), (130, 17, 8), (600, 1100, 5)]  # in, out, rank


def update(into: int, out: int, rank: int, seed: int = 0) -> LowRank:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(rank, into)) / into**0.5, rng.normal(size=(out, rank))
    return LowRank(Tensor(a.astype(np.float32)), Tensor(b.astype(np.float32)), 0.75)


def random(*shape: int) -> Floats:
    return np.random.default_rng(1).normal(size=shape).astype(np.float32)


def owned(*owners: int) -> AdaptedRows:
    """Adapted rows whose adapters are 0, 1, 2 and so on; -1 is none."""
    return AdaptedRows(adapters(), np.array(owners, np.int32))


LINEAR: Any = SimpleNamespace()


def adapters(shape: tuple[int, int, int] = (33, 300, 3)) -> list[SpanAdapter]:
    return [SpanAdapter(str(seed), _Updates(update(*shape, seed))) for seed in range(3)]


class _Updates(dict[Any, LowRank]):
    """The same update of whatever map is asked for."""

    def __init__(self, update: LowRank) -> None:
        super().__init__()
        self.update_of_all = update

    def get(self, key: Any, default: Any = None) -> Any:
        return self.update_of_all


def expected(x: Floats, y: Floats, one: LowRank, rows: Any) -> NDArray[np.float64]:
    result = y.astype(np.float64)
    a, b = np.asarray(one.a).astype(np.float64), np.asarray(one.b).astype(np.float64)
    result[rows] += one.scale * (x[rows].astype(np.float64) @ a.T) @ b.T
    return result


@pytest.fixture(params=["kernel", "numpy"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "numpy":
        monkeypatch.setattr("boostr.nn.low_rank.kernels", lambda: None)
    elif kernels.kernels() is None:
        pytest.skip("no native kernels here")
    return str(request.param)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("owners", [(0,), (0, 0, 0, 0, 0, 0, 0), (-1, 0, 0, -1), (0, -1, 0, 0, -1, 0, 0, 0)])
def test_rows_of_an_adapter_are_updated_and_others_are_not(
    shape: tuple[int, int, int], owners: tuple[int, ...], path: str
) -> None:
    x, y = random(len(owners), shape[0]), random(len(owners), shape[1])
    some = adapters(shape)
    rows = np.flatnonzero(np.array(owners) == 0)
    wanted = expected(x, y, some[0].updates.get(LINEAR), rows)  # type: ignore[arg-type]
    found = Tensor(y.copy())
    add_updates(LINEAR, Tensor(x), found, AdaptedRows(some, np.array(owners, np.int32)))
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-5, atol=2e-5)
    aside = np.array(owners) != 0
    np.testing.assert_array_equal(np.asarray(found)[aside], y[aside])


def test_adapters_meet_their_own_rows(path: str) -> None:
    owners = (2, 0, -1, 1, 0, 2, 2)
    rows, some = owned(*owners), adapters()
    x, y = random(len(owners), 33), random(len(owners), 300)
    found = Tensor(y.copy())
    add_updates(LINEAR, Tensor(x), found, rows)
    wanted = y.astype(np.float64)
    for place, adapter in enumerate(some):
        wanted = expected(x, wanted, adapter.updates.get(LINEAR), np.array(owners) == place)  # type: ignore[arg-type]
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-5, atol=2e-5)


@pytest.mark.skipif(kernels.kernels() is None, reason="no native kernels here")
def test_a_row_has_the_same_bits_in_any_company() -> None:
    x, y = random(9, 33), random(9, 300)
    together = Tensor(y.copy())
    add_updates(LINEAR, Tensor(x), together, owned(*[0] * 9))
    for row in range(9):
        alone = Tensor(y[row : row + 1].copy())
        add_updates(LINEAR, Tensor(x[row : row + 1]), alone, owned(0))
        np.testing.assert_array_equal(np.asarray(alone)[0], np.asarray(together)[row])


def test_arrays_that_are_not_contiguous(path: str) -> None:
    x, y = random(4, 66)[:, ::2], random(4, 600)[:, ::2]
    wanted = expected(x, y, update(33, 300, 3), slice(None))
    add_updates(LINEAR, Tensor(x), Tensor(y), owned(0, 0, 0, 0))
    np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=2e-5)


def test_linear_maps_and_groups_of_them_apply_updates(path: str) -> None:
    members = [Linear(Tensor(random(out, 20)), Tensor(random(out))) for out in (6, 9)]
    one = update(20, 9, 2)
    rows = AdaptedRows([SpanAdapter("one", {members[1]: one})], np.array([-1, 0, 0], np.int32))
    x = random(3, 20)
    plain = [np.asarray(member(Tensor(x))) for member in members]
    wanted = expected(x, plain[1], one, slice(1, 3))
    np.testing.assert_allclose(np.asarray(members[1](Tensor(x), rows)), wanted, rtol=1e-5, atol=2e-5)
    first, second = (np.asarray(y) for y in LinearGroup(*members)(Tensor(x), rows))
    np.testing.assert_allclose(first, plain[0], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(second, wanted, rtol=1e-5, atol=2e-5)


def test_rows_and_activations_must_be_as_many() -> None:
    with pytest.raises(ValueError, match="adapters of 2 rows meet activations of 3"):
        add_updates(LINEAR, Tensor(random(3, 33)), Tensor(random(3, 300)), owned(0, 0))


PROBE = """
import numpy as np
from tests.boostr.nn.test_low_rank import LINEAR, add_updates, owned, random
from numr import Tensor
y = Tensor(random(11, 300))
add_updates(LINEAR, Tensor(random(11, 33)), y, owned(0, 0, 1, 0, 2, 2, 2, 2, 2, -1, 1))
np.save({path!r}, np.asarray(y))
"""


def test_every_level_gives_the_same(tmp_path: Path) -> None:
    found = {}
    for level in [*supported(), "none"]:
        path = str(tmp_path / f"{level}.npy")
        environment = {**os.environ, "NUMR_CPU_LEVEL": level, "PYTHONPATH": os.pathsep.join(sys.path)}
        subprocess.run([sys.executable, "-W", "ignore", "-c", PROBE.format(path=path)], check=True, env=environment)
        found[level] = np.load(path)
    for level, values in found.items():
        np.testing.assert_allclose(values, found["none"], rtol=0, atol=2e-5, err_msg=level)
