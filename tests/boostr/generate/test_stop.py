"""Stop strings are found on text, wherever the pieces were cut, and never leak."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boostr.generate import StopMatcher


def cut_text(pieces: list[str], stops: list[str]) -> str:
    """What a caller would have emitted: the safe text after every piece, then the rest up to the cut."""
    matcher, text, emitted = StopMatcher(stops), "", ""
    for piece in pieces:
        text += piece
        matcher.feed(piece)
        assert text[: matcher.safe].startswith(emitted), "text that was let out cannot be taken back"
        emitted = text[: matcher.safe]
        if matcher.cut is not None:
            return text[: matcher.cut]
    return text


TEXT = "The answer is 42.\n\nQuestion: and DEFGHIJ then?"


@pytest.mark.parametrize("stops", [["\n\n"], ["DEFGHIJ"], ["GHI", "DEFGHIJ"], ["42.\n\nQ", "\n"], ["missing"]])
def test_any_two_cuts_give_the_same_text(stops: list[str]) -> None:
    whole = cut_text(list(TEXT), stops)
    for a, b in itertools.combinations(range(len(TEXT) + 1), 2):
        assert cut_text([TEXT[:a], TEXT[a:b], TEXT[b:]], stops) == whole


@given(st.text("ab", max_size=30), st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=3), st.data())
def test_pieces_make_no_difference(text: str, stops: list[str], data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    pieces = [text[a:b] for a, b in itertools.pairwise([0, *cuts, len(text)])]
    result = cut_text(pieces, stops)
    assert result == cut_text(list(text), stops)
    assert not any(stop in result for stop in stops)


def test_a_possible_beginning_is_held_back_until_it_is_decided() -> None:
    matcher = StopMatcher(["<|im_end|>"])
    matcher.feed("done <|im_")
    assert matcher.safe == len("done ")
    matcher.feed("age")
    assert matcher.safe == len("done <|im_age")


def test_text_before_a_stop_in_the_same_piece_is_kept() -> None:
    assert cut_text(["last", " word\n"], ["\n"]) == "last word"
