"""Parameters at the edge of their range once made logits overflow: the draw was then the vocabulary's last token."""

import numpy as np
import pytest

from boostr.errors import ParameterError
from boostr.generate import Sampler, SamplingParams

LOGITS = np.array([-30.0, 2.0, 12.0, 11.0, -4.0], np.float32)


@pytest.mark.parametrize("temperature", [1e-5, 1e-20, 1e-37, 1e-38, 1e-45, 1e-300, 5e-324])
def test_the_coldest_draw_is_the_best_token(temperature: float) -> None:
    sampler = Sampler(SamplingParams(temperature=temperature, seed=0), len(LOGITS))
    assert sampler.sample(LOGITS).token == 2


@pytest.mark.parametrize("temperature", [1e-38, 1e-300])
def test_equals_stay_equal_at_the_coldest(temperature: float) -> None:
    logits = np.array([1.0, 5.0, 5.0, -np.inf], np.float32)
    drawn = {Sampler(SamplingParams(temperature=temperature, seed=n), 4).sample(logits).token for n in range(40)}
    assert drawn == {1, 2}


@pytest.mark.parametrize("penalty", [0.01, 10.0])
def test_the_strongest_penalties_leave_finite_logits(penalty: float) -> None:
    params = SamplingParams(temperature=1e-300, repeat_penalty=penalty, frequency_penalty=2.0, seed=0)
    expected = 3 if penalty > 1 else 2
    assert Sampler(params, len(LOGITS), [2, 2]).sample(LOGITS).token == expected


@pytest.mark.parametrize("penalty", [0.0, 1e-300, 0.001, 10.5, 1e300])
def test_penalties_beyond_reason_are_refused_by_name(penalty: float) -> None:
    with pytest.raises(ParameterError, match=r"repeat_penalty .* from 0\.01 to 10") as caught:
        SamplingParams(repeat_penalty=penalty)
    assert caught.value.param == "repeat_penalty"
