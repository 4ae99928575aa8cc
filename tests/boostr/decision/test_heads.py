"""Heads that are plain arithmetic on hidden states."""

import json
from pathlib import Path

import numpy as np

from boostr.decision.heads.label_tokens import LabelTokenHead
from numr import Tensor

SOFTCAP = json.loads((Path(__file__).parents[2] / "data" / "decision" / "decider" / "softcap.json").read_text("utf-8"))


def test_logits_are_capped_as_gemma_caps_them() -> None:
    x = np.array(SOFTCAP["x"], np.float32)
    head = LabelTokenHead(Tensor(np.eye(len(x), dtype=np.float32)), range(len(x)), softcap=SOFTCAP["cap"])
    np.testing.assert_allclose(head(x[None])[0], SOFTCAP["y"], rtol=1e-6, atol=1e-6)


def test_only_the_labels_rows_are_read_in_their_order() -> None:
    weight = Tensor(np.arange(20, dtype=np.float32).reshape(5, 4))
    found = LabelTokenHead(weight, [3, 1])(np.array([[1, 0, 0, 0], [0, 0, 0, 2]], np.float32))
    np.testing.assert_array_equal(found, [[12, 4], [30, 14]])
