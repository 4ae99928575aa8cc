"""Pieces, token ids and spans of records, exactly as the release's with no control token in request text."""

import hashlib
import json

import numpy as np
import pytest

from boostr.decision.clef.questions import check_body, pieces_of, render
from boostr.decision.clef.record import PREFIX, SUFFIX, encode_record
from boostr.tokenizers.base import Tokenizer

from .goldens import golden, small_tokenizer

REQUESTS = {request["id"]: request for request in golden("requests")}
ENCODED = golden("encode")


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return small_tokenizer()


@pytest.mark.parametrize("case", golden("render"), ids=lambda case: case["rendered"][:20])
def test_values_as_text(case: dict) -> None:
    assert render(case["value"]) == case["rendered"]


def test_the_frame(tokenizer: Tokenizer) -> None:
    template = golden("template")
    assert (template["prefix"], template["suffix"]) == (PREFIX, SUFFIX)
    assert tokenizer.encode(PREFIX, add_special=False) == template["prefix_ids_small"]
    assert tokenizer.encode(SUFFIX, add_special=False) == template["suffix_ids_small"]


@pytest.mark.parametrize("case", ENCODED, ids=lambda case: case["id"])
def test_pieces(case: dict) -> None:
    body = json.loads(REQUESTS[case["id"]]["request_json"])
    state, expected = render(body["state"]), case["state_text"]
    if isinstance(expected, str):
        assert state == expected
    else:  # a long text, told by its digest
        assert hashlib.sha256(state.encode()).hexdigest() == expected["sha256_utf8"]
    assert pieces_of(check_body({"model": "m", **body})) == case["schema_pieces"]


@pytest.mark.parametrize("case", ENCODED, ids=lambda case: case["id"])
def test_ids_and_spans(tokenizer: Tokenizer, case: dict) -> None:
    expected = case["small"] if case["small_plain"] == "same as small" else case["small_plain"]
    body, options = json.loads(REQUESTS[case["id"]]["request_json"]), case["opts"]
    fields = check_body({"model": "m", **body})
    most = options.get("max_length", 16_384)
    record = encode_record(tokenizer, render(body["state"]), fields, most, options.get("max_state_tokens"))
    assert (len(record.ids), record.uncut) == (expected["n"], expected["n_state_uncut"])
    if isinstance(expected["input_ids"], list):
        assert list(record.ids) == expected["input_ids"]
    else:  # a long record, told by its digest
        digest = hashlib.sha256(np.array(record.ids, "<u4").tobytes()).hexdigest()
        assert digest in expected["input_ids"].values()
    found = [
        {
            "question_id": field.name,
            "type": ("noul", "choice", "score").index(field.kind),
            "question_span": list(place.question),
            "option_spans": [list(span) for span in place.options],
            "option_ids": [name for name, _ in field.options],
        }
        for field, place in zip(fields, record.places, strict=True)
    ]
    assert found == expected["questions"]
