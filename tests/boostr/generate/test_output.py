"""The output stream: what may leave after each token, and why a sequence ends."""

import pytest

from boostr.generate import OutputStream, Piece, Sampled, SamplingParams
from tests.boostr.generate.byte_tokenizer import EOS, ByteTokenizer

TOKENIZER = ByteTokenizer()


def run(
    text: str, *, end: bool = False, limit: int | None = None, **params: object
) -> tuple[list[Piece], OutputStream]:
    """Push the bytes of `text` (and the end token) until the stream finishes."""
    options = SamplingParams(**{"max_tokens": None, **params})  # type: ignore[arg-type]
    stream = OutputStream(TOKENIZER, options, TOKENIZER.eos_token_ids, limit=limit)
    pieces: list[Piece] = []
    for token in [*text.encode(), *([EOS] if end else [])]:
        if stream.finish_reason is None:
            pieces += stream.push(Sampled(token, -1.0, ((token, -1.0),)))
    return pieces, stream


def joined(pieces: list[Piece]) -> str:
    return "".join(piece.text for piece in pieces)


def test_the_end_token_ends_and_is_not_shown() -> None:
    pieces, stream = run("hello", end=True)
    assert joined(pieces) == "hello" == stream.text
    assert pieces[-1] == Piece("", finish_reason="stop")
    assert EOS not in [piece.token for piece in pieces]
    assert stream.n_tokens == 6


def test_ignore_eos_goes_on() -> None:
    _, stream = run("hello", end=True, ignore_eos=True)
    assert stream.finish_reason is None


@pytest.mark.parametrize(("limits", "length"), [({"max_tokens": 3}, 3), ({"limit": 2, "max_tokens": 3}, 2)])
def test_the_smaller_of_max_tokens_and_the_room_left_ends_with_length(limits: dict[str, int], length: int) -> None:
    pieces, stream = run("hello", **limits)  # type: ignore[arg-type]
    assert joined(pieces) == "hello"[:length]
    assert pieces[-1].finish_reason == stream.finish_reason == "length"


def test_a_character_split_over_tokens_is_shown_whole() -> None:
    pieces, _ = run("a🥹鿜b", end=True)
    assert joined(pieces) == "a🥹鿜b"
    assert "\ufffd" not in joined(pieces)


def test_a_character_cut_by_the_limit_is_a_replacement_character() -> None:
    pieces, _ = run("a🥹", max_tokens=3)
    assert joined(pieces) == "a\ufffd"


@pytest.mark.parametrize("stop", ["ll", "llo", "o", "lo w"])
def test_a_stop_string_over_tokens_never_leaks(stop: str) -> None:
    pieces, stream = run("hello world", stop=(stop,), end=True)
    assert joined(pieces) == "hello world".partition(stop)[0] == stream.text
    assert stream.finish_reason == "stop"


def test_held_text_leaves_when_it_turns_out_to_be_no_stop_string() -> None:
    pieces, _ = run("<|im_possible", stop=("<|im_end|>",), end=True)
    assert joined(pieces) == "<|im_possible"


def test_tokens_of_the_stop_string_are_not_in_the_pieces() -> None:
    pieces, _ = run("ab--cd", stop=("--",), end=True)
    assert [piece.token for piece in pieces if piece.token is not None] == list(b"ab")


def test_each_token_carries_its_own_log_probability() -> None:
    pieces, _ = run("ab", end=True)
    assert [(piece.token, piece.logprob, piece.top) for piece in pieces[:2]] == [
        (token, -1.0, ((token, -1.0),)) for token in b"ab"
    ]


def test_cancelling_lets_out_what_was_held() -> None:
    stream = OutputStream(TOKENIZER, SamplingParams(stop=("<end>",)), TOKENIZER.eos_token_ids)
    held = [piece for token in b"x<en" for piece in stream.push(Sampled(token))]
    assert joined(held) == "x"
    assert joined(stream.finish("cancelled")) == "<en"
    assert stream.finish_reason == "cancelled"
