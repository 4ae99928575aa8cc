"""How rows are run: passes, shared prefixes and few live states give what each row gives alone."""

from pathlib import Path

import numpy as np
import pytest

import boostr
from boostr.decision.family import Plan, Row
from boostr.decision.run import _passes, read_prefix, run_plan, run_rows
from boostr.generate.decode import PREFILL_CHUNK

TINY = Path(__file__).parents[2] / "data" / "decision" / "decider" / "tiny_model"


@pytest.mark.parametrize(
    "lengths", [[3], [PREFILL_CHUNK], [PREFILL_CHUNK + 1], [200, 200, 200], [5, 2000, 5], [1] * 1000]
)
def test_passes_hold_every_token_once_and_cut_no_row_that_fits(lengths: list[int]) -> None:
    passes = list(_passes(lengths))
    taken = np.zeros(len(lengths), int)
    for piece in passes:
        assert 0 < sum(count for _, count in piece) <= PREFILL_CHUNK
        for at, count in piece:
            taken[at] += count
    assert taken.tolist() == lengths
    assert all(count > 1 or lengths[at] == 1 for piece in passes for at, count in piece)  # none stands alone
    pieces = [sum(at == row for piece in passes for at, _ in piece) for row in range(len(lengths))]
    assert pieces == [-(-length // PREFILL_CHUNK) for length in lengths]


def test_rows_in_company_and_behind_a_prefix_are_as_alone() -> None:
    model = boostr.load(TINY, precise=True)
    rng = np.random.default_rng(3)
    prefix = rng.integers(0, 500, 700).tolist()
    rows = [Row(prefix + rng.integers(0, 500, n).tolist(), [700, 699 + n]) for n in (2, 30, 600)]
    alone = [run_rows(model, [row])[0] for row in rows]
    together = run_plan(model, Plan(rows, 700, None))
    kept = run_plan(model, Plan(rows, 700, None), read_prefix(model, prefix))
    for a, b, c in zip(alone, together, kept, strict=True):
        assert a.shape == (2, model.network.hidden_size)
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-4)
        np.testing.assert_array_equal(c, b)
    model.close()


def test_no_rows_run_nothing() -> None:
    model = boostr.load(TINY, precise=True)
    assert run_plan(model, Plan((), 0, None)) == []
    model.close()
