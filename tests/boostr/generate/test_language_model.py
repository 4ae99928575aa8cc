"""boostr.load on a small trained-shape GGUF with its own vocabulary: text, streams, choices, logits, refusals."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import boostr
from boostr.errors import ContextLengthError, ModelNotFoundError, ParameterError, TokenizerError

PATH = Path(__file__).parents[2] / "data" / "gguf" / "models" / "llama-bpe-Q4_K_M.gguf"


@pytest.fixture(scope="module")
def model() -> Iterator[boostr.LanguageModel]:
    model = boostr.load(PATH, precise=True)
    yield model
    model.close()


def test_a_stream_joins_to_what_generate_returns(model: boostr.LanguageModel) -> None:
    params = {"max_tokens": 24, "temperature": 0.9, "top_p": 0.9, "seed": 3}
    text = model.generate("def main(", **params)
    assert "".join(model.stream("def main(", **params)) == text
    assert text


def test_a_prompt_of_ids_equals_its_text(model: boostr.LanguageModel) -> None:
    params = {"max_tokens": 8, "temperature": 0}
    assert model.generate(model.encode("hello"), **params) == model.generate("hello", **params)


def test_greedy_generation_follows_the_logits(model: boostr.LanguageModel) -> None:
    ids = model.encode("hello world")
    completion = model.complete(ids, max_tokens=4, temperature=0, ignore_eos=True)[0]
    for token in completion.token_ids:
        assert token == int(np.asarray(model.logits(ids))[-1].argmax())
        ids.append(token)


def test_each_choice_draws_as_if_it_were_alone_with_its_seed(model: boostr.LanguageModel) -> None:
    together = model.complete("hello", n=3, max_tokens=12, seed=5)
    alone = [model.complete("hello", max_tokens=12, seed=5 + choice)[0] for choice in range(3)]
    assert [c.text for c in together] == [c.text for c in alone]
    assert len({c.text for c in together}) > 1


def test_log_probabilities_come_with_every_token(model: boostr.LanguageModel) -> None:
    ids = model.encode("hello")
    piece = model.complete(ids, max_tokens=1, temperature=0, logprobs=2, ignore_eos=True)[0].pieces[0]
    logits = np.asarray(model.logits(ids))[-1].astype(np.float64)
    expected = logits - np.log(np.exp(logits - logits.max()).sum()) - logits.max()
    assert piece.logprob == pytest.approx(expected.max(), abs=1e-5)
    assert [token for token, _ in piece.top] == np.argsort(-expected)[:2].tolist()


def test_logits_do_not_depend_on_how_the_prompt_is_chunked(
    model: boostr.LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = model.encode("the quick brown fox jumps over the lazy dog")
    whole = np.asarray(model.logits(ids))
    monkeypatch.setattr("boostr.generate.decode.PREFILL_CHUNK", 5)
    np.testing.assert_allclose(np.asarray(model.logits(ids)), whole, atol=1e-4)
    assert whole.shape == (len(ids), model.vocab_size)
    assert whole.dtype == np.float32


def test_a_prompt_as_long_as_the_context_is_refused(model: boostr.LanguageModel) -> None:
    with pytest.raises(ContextLengthError) as caught:
        model.generate([1] * model.context_length)
    assert (caught.value.n_prompt, caught.value.n_ctx) == (model.context_length, model.context_length)


def test_generation_stops_where_the_context_ends(model: boostr.LanguageModel) -> None:
    small = boostr.load(PATH, precise=True, context_length=12)
    completion = small.complete([1] * 9, temperature=0, ignore_eos=True, max_tokens=100)[0]
    assert completion.finish_reason == "length"
    assert len(completion.token_ids) == 3


@pytest.mark.parametrize("token", [-1, 10**6])
def test_ids_outside_the_vocabulary_are_refused(model: boostr.LanguageModel, token: int) -> None:
    with pytest.raises(TokenizerError, match=f"token id {token} at position 1"):
        model.logits([1, token])
    with pytest.raises(TokenizerError, match=f"token id {token} at position 1"):
        model.generate([1, token])


def test_no_tokens_are_refused(model: boostr.LanguageModel) -> None:
    with pytest.raises(TokenizerError, match="no token ids"):
        model.logits([])
    with pytest.raises(ParameterError, match="n is 0"):
        model.complete("hello", n=0)


def test_an_unknown_model_says_so() -> None:
    with pytest.raises(ModelNotFoundError, match="no-such"):
        boostr.load("no-such/model")


def test_progress_counts_all_bytes_once() -> None:
    seen: list[tuple[int, int]] = []
    boostr.load(PATH, progress=lambda done, total: seen.append((done, total))).close()
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1][0] == seen[-1][1] > 0


def test_the_default_cache_is_exact_when_precise_and_small_when_fast(model: boostr.LanguageModel) -> None:
    assert model.new_state().cache_dtype == "float32"
    assert boostr.load(PATH).new_state().cache_dtype == "float16"
