"""A mixture of experts against plain NumPy, and that each expert runs once a pass, on its own rows."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostr.nn import GatedMLP, Linear, SparseMoE
from numr import Tensor

Array = NDArray[np.float32]
HIDDEN, WIDTH, COUNT, USED, ROWS = 12, 8, 5, 2, 23


def silu(x: Any) -> Any:
    return x / (1 + np.exp(-x))


class Mixture:
    """A layer of random weights that counts the calls of each expert."""

    def __init__(self, renormalise: bool = True, shared: bool = True) -> None:
        rng = np.random.default_rng(11)

        def matrix(out: int, into: int) -> Array:
            return rng.standard_normal((out, into)).astype(np.float32)

        self.router = matrix(COUNT, HIDDEN)
        self.weights = [(matrix(WIDTH, HIDDEN), matrix(WIDTH, HIDDEN), matrix(HIDDEN, WIDTH)) for _ in range(COUNT + 1)]
        self.gate = matrix(1, HIDDEN)
        self.x = matrix(ROWS, HIDDEN)
        self.renormalise, self.shared = renormalise, shared
        self.made: list[int] = []
        self.calls: list[tuple[int, int]] = []
        self.layer = SparseMoE(
            Linear(Tensor(self.router)),
            self.expert,
            top_k=USED,
            renormalise=renormalise,
            shared=self.mlp(COUNT) if shared else None,
            shared_gate=Linear(Tensor(self.gate)) if shared else None,
        )

    def mlp(self, number: int) -> GatedMLP:
        return GatedMLP(*(Linear(Tensor(weight)) for weight in self.weights[number]))

    def expert(self, number: int) -> Any:
        mlp = self.mlp(number)
        self.made.append(number)

        def counted(x: Tensor, adapters: object) -> Tensor:
            self.calls.append((number, x.shape[0]))
            return mlp(x)

        return counted

    def expected(self) -> Array:
        """Row by row, as it is defined."""
        out = np.zeros((ROWS, HIDDEN))
        for row, x in enumerate(self.x.astype(np.float64)):
            odds = np.exp(self.router @ x)
            odds /= odds.sum()
            chosen = np.argsort(-odds, kind="stable")[:USED]
            total = odds[chosen].sum() if self.renormalise else 1.0
            for number in chosen:
                out[row] += odds[number] / total * self.one(number, x)
            if self.shared:
                out[row] += self.one(COUNT, x) / (1 + np.exp(-(self.gate @ x)))
        return out.astype(np.float32)

    def one(self, number: int, x: Any) -> Any:
        gate, up, down = self.weights[number]
        return down @ (silu(gate @ x) * (up @ x))


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("renormalise", [True, False])
def test_the_sum_of_the_chosen_experts(renormalise: bool, shared: bool) -> None:
    mixture = Mixture(renormalise, shared)
    found = mixture.layer(Tensor(mixture.x))
    np.testing.assert_allclose(np.asarray(found), mixture.expected(), rtol=1e-5, atol=1e-4)


def test_an_expert_runs_once_on_all_rows_that_chose_it() -> None:
    mixture = Mixture()
    mixture.layer(Tensor(mixture.x))
    chosen, _ = mixture.layer.route(Tensor(mixture.x))
    assert mixture.calls == [(n, int((chosen == n).sum())) for n in range(COUNT) if (chosen == n).any()]
    assert len(mixture.calls) <= COUNT < ROWS


def test_an_expert_is_made_once_and_only_when_a_row_chooses_it() -> None:
    mixture = Mixture()
    mixture.router[:] = 0
    mixture.router[3], mixture.router[1] = mixture.x[0], mixture.x[0] / 2
    for _ in range(2):
        mixture.layer(Tensor(mixture.x[:1]))
    assert mixture.made == [1, 3]


def test_equal_odds_go_to_the_lower_index() -> None:
    mixture = Mixture()
    mixture.router[:] = 0
    chosen, weights = mixture.layer.route(Tensor(mixture.x))
    assert (chosen == [0, 1]).all()
    np.testing.assert_allclose(weights, 0.5, rtol=1e-6)
