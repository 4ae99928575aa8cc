"""Texts that cannot fit the context are refused without tokenizing them, which takes minutes and gigabytes."""

import pytest

from blazr.server.openai.conversation import render_conversation
from blazr.server.openai.prompts import read_prompts
from blazr.server.openai.schemas import ChatRequest
from boostr.errors import ContextLengthError
from tests.support.tiny import ByteTokenizer, TinyModel


class Counted(ByteTokenizer):
    """Counts characters it was given."""

    def __init__(self) -> None:
        self.characters = 0

    def encode_segments(self, segments: object, *, add_special: bool = True) -> list[int]:
        self.characters += sum(len(text) for text, _ in segments)  # type: ignore[attr-defined]
        return super().encode_segments(segments, add_special=add_special)  # type: ignore[arg-type]


@pytest.fixture
def model() -> TinyModel:
    model = TinyModel(context_length=512)
    model.tokenizer = Counted()
    return model


def test_a_hopeless_prompt_is_not_tokenized(model: TinyModel) -> None:
    with pytest.raises(ContextLengthError) as caught:
        read_prompts("1" * 1_000_000, (), model)
    assert caught.value.n_prompt >= 512
    assert model.tokenizer.characters == 0  # type: ignore[union-attr]


@pytest.mark.parametrize("raw", [False, True])
def test_a_hopeless_conversation_is_not_tokenized(model: TinyModel, raw: bool) -> None:
    with pytest.raises(ContextLengthError):
        render_conversation(ChatRequest(messages=[{"role": "user", "content": "1" * 1_000_000}], raw=raw), model)
    assert model.tokenizer.characters == 0  # type: ignore[union-attr]


def test_texts_that_might_fit_are_tokenized(model: TinyModel) -> None:
    assert len(read_prompts("1" * 8000, (), model)[0].ids) == 8001
