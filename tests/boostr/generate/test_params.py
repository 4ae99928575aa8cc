"""Parameters outside their range are refused by name before anything runs."""

from typing import Any

import numpy as np
import pytest

from boostr.errors import ParameterError
from boostr.generate import Sampler, SamplingParams


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_tokens", 0),
        ("temperature", -0.1),
        ("temperature", 2.1),
        ("temperature", float("nan")),
        ("top_p", 1.01),
        ("top_k", -1),
        ("min_p", 2.0),
        ("repeat_penalty", 0.0),
        ("repeat_penalty", float("inf")),
        ("repeat_last_n", -2),
        ("frequency_penalty", 3.0),
        ("presence_penalty", -3.0),
        ("logprobs", 21),
        ("stop", ("",)),
        ("logit_bias", {-1: 1.0}),
        ("logit_bias", {3: 101.0}),
        ("logit_bias", {"3": 1.0}),
        ("logit_bias", {3: "much"}),
        ("logit_bias", [3]),
        ("temperature", "warm"),
        ("temperature", None),
        ("top_p", True),
        ("max_tokens", 2.5),
        ("max_tokens", True),
        ("top_k", 1.0),
        ("top_k", None),
        ("seed", "seven"),
        ("logprobs", 2.0),
        ("stop", 5),
        ("stop", None),
        ("stop", (5,)),
    ],
)
def test_value_out_of_range_names_the_parameter(name: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=name) as caught:
        SamplingParams(**{name: value})
    assert caught.value.param == name


def test_numpy_numbers_are_numbers() -> None:
    params = SamplingParams(max_tokens=np.int64(3), temperature=np.float32(0.5), logit_bias={1: np.float32(2)})
    assert (params.max_tokens, params.temperature) == (3, 0.5)
    assert type(params.max_tokens) is int


def test_choices_count_up_from_the_seed_and_wrap() -> None:
    assert [SamplingParams(seed=7).for_choice(n).seed for n in range(3)] == [7, 8, 9]
    assert SamplingParams(seed=2**64 - 1).for_choice(2).seed == 1
    assert SamplingParams().for_choice(2).seed is None


def test_a_bias_outside_the_vocabulary_is_refused() -> None:
    with pytest.raises(ParameterError, match="vocabulary ends at 9"):
        Sampler(SamplingParams(logit_bias={10: 1.0}), vocab_size=10)


def test_one_stop_string_may_come_without_a_list() -> None:
    assert SamplingParams(stop="x").stop == ("x",)
