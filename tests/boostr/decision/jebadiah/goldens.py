"""The vendor's own results, made by jebadiah-decide 0.3.0 on a small tokenizer and the decider's tiny random model."""

import json
from pathlib import Path
from typing import Any

from boostr.chat import resolve_template
from boostr.decision.family import Hidden
from boostr.decision.jebadiah import Jebadiah, JebadiahConfig, JebadiahLimits
from boostr.decision.jebadiah.rows import Prompt
from boostr.tokenizers import from_directory

DATA = Path(__file__).parents[3] / "data" / "decision" / "jebadiah"
TINY = DATA.parent / "decider" / "tiny_model"


def golden(name: str) -> Any:
    return json.loads((DATA / f"{name}.json").read_text("utf-8"))


def small_prompt() -> Prompt:
    tokenizer = from_directory(TINY)
    template = resolve_template(None, metadata={}, directory=TINY, model_type="qwen3_5_text", tokenizer=tokenizer)
    assert template is not None
    return Prompt(tokenizer, template)


class Given:
    """A head whose "hidden states" are logits already, in the order of its labels."""

    def __init__(self, ids: list[int]) -> None:
        self.ids = ids

    def __call__(self, hidden: Hidden) -> Hidden:
        return hidden


def jebadiah(config: JebadiahConfig, **limits: Any) -> Jebadiah:
    prompt = small_prompt()
    head = Given([label.id for label in prompt.labels])
    return Jebadiah(config, prompt, head, JebadiahLimits(**limits), "jebadiah-tiny")
