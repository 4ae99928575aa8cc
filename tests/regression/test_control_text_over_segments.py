"""A control text that only came together from several segments was once read as the control token."""

from pathlib import Path

import pytest

from boostr.tokenizers import from_directory

TOKENIZER = from_directory(Path(__file__).parents[1] / "data" / "tokenizers" / "tiny-llama3")
CONTROL = max(TOKENIZER.special_tokens, key=len)
TOKEN = TOKENIZER.special_tokens[CONTROL]


@pytest.mark.parametrize("flags", [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("cut", range(1, len(CONTROL)))
def test_text_over_a_border_stays_text(cut: int, flags: tuple[bool, bool]) -> None:
    segments = [("a ", True), (CONTROL[:cut], flags[0]), (CONTROL[cut:], flags[1]), (" b", True)]
    ids = TOKENIZER.encode_segments(segments, add_special=False)
    assert TOKEN not in ids
    assert TOKENIZER.decode(ids) == f"a {CONTROL} b"


@pytest.mark.parametrize("cut", range(len(CONTROL) + 1))
def test_a_template_s_own_control_text_is_the_token_however_it_is_cut(cut: int) -> None:
    segments = [("user text", False), (CONTROL[:cut], True), (CONTROL[cut:], True), ("more", False)]
    assert TOKENIZER.encode_segments(segments, add_special=False).count(TOKEN) == 1


def test_segments_without_control_text_are_tokenized_as_one_text() -> None:
    segments = [("Hello wo", True), ("rld, hel", False), ("lo", True), (CONTROL, True), ("!", False)]
    whole = "".join(text for text, _ in segments)
    assert TOKENIZER.encode_segments(segments, add_special=False) == TOKENIZER.encode(whole, add_special=False)
