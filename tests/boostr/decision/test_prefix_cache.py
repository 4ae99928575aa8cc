"""Kept prefixes: hits answer as the first send did, budgets hold, and families say what was saved."""

from pathlib import Path

import pytest

from boostr import decision
from boostr.decision.prefix_cache import PrefixCache
from boostr.state import KVSpec, SequenceState, StateSpec

DATA = Path(__file__).parents[2] / "data" / "decision"
STATE = "Line by line the policy says that refunds are allowed. " * 12
FIRST = {"refund": {"type": "noul", "instructions": "Refund asked?"}}
OTHERS = {
    "team": {"type": "choice", "instructions": "Which team?", "criteria": {"billing": "charges", "tech": None}},
    "mood": {"type": "score", "instructions": "How calm?", "criteria": ["calm", "angry"]},
}


@pytest.mark.parametrize("name", ["decider/tiny_model", "kev/e2e/base"])
def test_hits_answer_as_the_first_send(name: str, tmp_path: Path) -> None:
    path, base = DATA / name, None
    if name.startswith("kev"):
        path, base = DATA / "kev" / "e2e" / "kev-tiny", DATA / name
    fresh = decision.load(path, base=base)
    kept = decision.load(path, base=base, prefix_cache_mb=16)
    for questions in (FIRST, FIRST, OTHERS, OTHERS):
        expected, found = fresh.decide(STATE, questions), kept.decide(STATE, questions)
        for key, answer in expected["answers"].items():
            for field, value in answer.items():
                if isinstance(value, float):
                    assert found["answers"][key][field] == pytest.approx(value, abs=1.01e-4)
    assert (kept.prefixes.hits, kept.prefixes.misses) == (3, 1)
    told = found["usage"].get("cached_tokens")
    assert told == (None if base else found["usage"]["cached_input_tokens"])
    assert told is None or told > 64
    fresh.close()
    kept.close()
    assert len(kept.prefixes) == 0


def test_short_states_and_clef_keep_nothing() -> None:
    decider = decision.load(DATA / "decider" / "tiny_model", prefix_cache_mb=16)
    assert decider.decide("short", FIRST)["usage"]["cached_tokens"] == 0
    clef = decision.load(DATA / "clef" / "e2e", prefix_cache_mb=16)
    assert "cached_tokens" not in clef.decide(STATE, FIRST)["usage"]
    for model in (decider, clef):
        assert len(model.prefixes) == 0
        model.close()


def states(count: int) -> list[SequenceState]:
    spec = StateSpec((KVSpec(1, 8, 8),))
    made = [SequenceState(spec) for _ in range(count)]
    for state in made:
        state.reserve(10)
        state.advance(10)
    return made


def test_the_least_recently_used_leave_first() -> None:
    one, two, three = states(3)
    cache = PrefixCache(2 * one.nbytes)
    cache.keep([1], one)
    cache.keep([2], two)
    assert cache.find([1]) is one
    cache.keep([3], three)
    assert (cache.find([2]), cache.evictions, cache.nbytes) == (None, 1, 2 * one.nbytes)
    cache.shrink(one.nbytes)
    assert (cache.find([1]), cache.find([3])) == (None, three)


def test_what_is_larger_than_the_budget_is_not_kept() -> None:
    (one,) = states(1)
    cache = PrefixCache(one.nbytes - 1)
    cache.keep([1], one)
    assert len(cache) == 0
    assert not PrefixCache(0).takes(1000)
