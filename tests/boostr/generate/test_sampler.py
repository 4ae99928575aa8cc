"""Each step of the sampling chain does what its definition says, and draws follow the distribution it leaves."""

from typing import Any

import numpy as np
import pytest

from boostr.errors import NumericalError
from boostr.generate import Sampler, SamplingParams
from boostr.generate.chain import CHAIN

LOGITS = np.log(np.array([0.05, 0.4, 0.1, 0.25, 0.2], np.float32))


def drawn(draws: int = 400, prompt: tuple[int, ...] = (), logits: Any = LOGITS, **params: Any) -> dict[int, float]:
    """Share of each token over many independent draws from the same logits."""
    counts: dict[int, float] = {}
    for seed in range(draws):
        token = Sampler(SamplingParams(seed=seed, **params), len(logits), prompt).sample(logits).token
        counts[token] = counts.get(token, 0) + 1 / draws
    return counts


def test_greedy_takes_the_best_and_the_lowest_id_of_equals() -> None:
    assert Sampler(SamplingParams(temperature=0), 5).sample(LOGITS).token == 1
    assert Sampler(SamplingParams(temperature=0), 3).sample(np.array([1, 2, 2], np.float32)).token == 1


def test_draws_follow_the_distribution() -> None:
    shares = drawn(4000)
    np.testing.assert_allclose([shares[i] for i in range(5)], [0.05, 0.4, 0.1, 0.25, 0.2], atol=0.03)


def test_temperature_sharpens() -> None:
    expected = np.exp(LOGITS / 0.5)
    shares = drawn(4000, temperature=0.5)
    np.testing.assert_allclose([shares.get(i, 0) for i in range(5)], expected / expected.sum(), atol=0.03)


def test_top_k_keeps_the_k_best() -> None:
    assert set(drawn(top_k=2)) == {1, 3}


def test_top_p_keeps_the_token_that_crosses_the_mass() -> None:
    assert set(drawn(top_p=0.5)) == {1, 3}
    assert set(drawn(top_p=0.66)) == {1, 3, 4}
    assert set(drawn(top_p=0.0)) == {1}


def test_top_p_over_a_flat_distribution_larger_than_the_first_guess() -> None:
    logits = np.zeros(2000, np.float32)
    kept = set(drawn(3000, logits=logits, top_p=0.9))
    assert 256 < len(kept) <= 1800


def test_min_p_is_relative_to_the_best() -> None:
    assert set(drawn(min_p=0.49)) == {1, 3, 4}


def test_repetition_penalty_divides_positive_and_multiplies_negative_logits() -> None:
    logits = np.array([2.0, -1.0, 1.5], np.float32)
    best = Sampler(SamplingParams(temperature=0, repeat_penalty=2.0), 3, [0]).sample(logits).token
    assert best == 2
    best = Sampler(SamplingParams(temperature=0, repeat_penalty=2.0), 2, [0]).sample(-logits[:2]).token
    assert best == 1


def test_penalties_look_back_only_repeat_last_n_tokens() -> None:
    logits = np.array([2.0, 1.5], np.float32)
    params = {"temperature": 0.0, "repeat_penalty": 2.0}
    assert Sampler(SamplingParams(**params, repeat_last_n=1), 2, [0, 1]).sample(logits).token == 0
    assert Sampler(SamplingParams(**params, repeat_last_n=2), 2, [0, 0]).sample(logits).token == 1
    assert Sampler(SamplingParams(**params, repeat_last_n=0), 2, [0, 0]).sample(logits).token == 0
    assert Sampler(SamplingParams(**params, repeat_last_n=-1), 2, [0, 1, 1]).sample(logits).token == 0


def test_frequency_penalty_counts_and_presence_penalty_does_not() -> None:
    logits = np.array([1.0, 0.5, 0.0], np.float32)
    often = Sampler(SamplingParams(temperature=0, frequency_penalty=0.3), 3, [0, 0, 1])
    assert often.sample(logits).token == 0  # 1.0 - 2 * 0.3 still beats 0.5 - 0.3
    thrice = Sampler(SamplingParams(temperature=0, frequency_penalty=0.3), 3, [0, 0, 0, 1])
    assert thrice.sample(logits).token == 1  # 1.0 - 3 * 0.3 does not
    present = Sampler(SamplingParams(temperature=0, presence_penalty=1.5), 3, [0, 0, 1])
    assert present.sample(logits).token == 2


def test_logit_bias_bans_and_forces() -> None:
    assert Sampler(SamplingParams(temperature=0, logit_bias={1: -100.0}), 5).sample(LOGITS).token == 3
    assert Sampler(SamplingParams(temperature=0, logit_bias={0: 100.0}), 5).sample(LOGITS).token == 0


def test_a_seed_repeats_its_draws_and_moves_on_within_a_sequence() -> None:
    first, second = (Sampler(SamplingParams(seed=7), 5) for _ in range(2))
    draws = [first.sample(LOGITS).token for _ in range(30)]
    assert draws == [second.sample(LOGITS).token for _ in range(30)]
    assert len(set(draws)) > 1


def test_logprobs_are_of_the_raw_distribution() -> None:
    sampled = Sampler(SamplingParams(temperature=0, logprobs=3, logit_bias={0: 100.0}), 5).sample(LOGITS)
    assert sampled.token == 0
    assert sampled.logprob == pytest.approx(np.log(0.05), abs=1e-6)
    assert [token for token, _ in sampled.top] == [1, 3, 4]
    assert sampled.top[0][1] == pytest.approx(np.log(0.4), abs=1e-6)


def test_the_models_logits_are_left_unchanged() -> None:
    logits = LOGITS.copy()
    Sampler(SamplingParams(temperature=0.7, repeat_penalty=1.3, logit_bias={2: 5.0}), 5, [1]).sample(logits)
    np.testing.assert_array_equal(logits, LOGITS)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("broken", [[np.nan, 1.0], [np.inf, 1.0], [-np.inf, -np.inf]])
def test_broken_logits_are_an_error_and_not_a_token(temperature: float, broken: list[float]) -> None:
    with pytest.raises(NumericalError), np.errstate(invalid="ignore"):
        Sampler(SamplingParams(temperature=temperature), 2).sample(np.array(broken, np.float32))


def test_the_order_of_the_chain() -> None:
    assert [name for name, _, _ in CHAIN] == ["logit_bias", "penalties", "temperature", "top_k", "top_p", "min_p"]
