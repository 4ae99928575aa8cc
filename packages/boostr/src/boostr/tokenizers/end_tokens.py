"""Which tokens end a generation, by their text.

Files declare one end token, often the wrong one for chat: so the well-known spellings found in a vocabulary count too.
The table is the one that llama.cpp collects its end-of-generation set from, so both stop at the same tokens.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

__all__ = ["END_TEXTS", "FILL_IN_TEXTS", "find_end_tokens"]

END_TEXTS = frozenset(
    {
        "<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|end|>", "<|endoftext|>", "<|end_of_text|>", "<end_of_turn>",
        "</s>", "<|return|>", "<|call|>", "<|calls|>", "<|flush|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]", "<eos>",
        "<turn|>", "<end_of_utterance>", "<|tool_response>", "<｜end▁of▁sentence｜>", "[e~[",
    }
)  # fmt: skip

# Fill-in-the-middle marks: role -> spellings. Control tokens all; `pad`, `repo` and `separator` also end a generation.
FILL_IN_TEXTS: Mapping[str, tuple[str, ...]] = {
    "prefix": ("<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>",
               "<|code_prefix|>", "<|prefix|>"),
    "suffix": ("<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>", "<|code_suffix|>",
               "<|suffix|>"),
    "middle": ("<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>", "▁<MID>", "<|code_middle|>",
               "<|middle|>"),
    "pad": ("<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"),
    "repo": ("<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"),
    "separator": ("<|file_sep|>",),
}  # fmt: skip
_ENDING_ROLES = ("pad", "repo", "separator")

# An end text that is an ordinary mark where the other texts are in the vocabulary too: channels of gpt-oss and
# solar-open end with <|end|>, and gemma 4 has </s> as a plain HTML tag.
_NOT_AN_END: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("<|end|>", ("<|return|>", "<|call|>")),
    ("<|end|>", ("<|calls|>", "<|flush|>")),
    ("<|end|>", ("<|call|>", "<|flush|>")),
    ("</s>", ("<|tool_response>",)),
)


def find_end_tokens(ids: Mapping[str, int], declared: Collection[int], fill_in: Mapping[str, int]) -> frozenset[int]:
    """Ids that end a generation: `declared` ones, the well-known texts in `ids` (text -> id), and the fill-in marks
    (role -> id) after which nothing useful follows."""
    found = {text for text in END_TEXTS if text in ids}
    for text, companions in _NOT_AN_END:
        if all(companion in ids for companion in companions):
            found.discard(text)
    return (
        frozenset(declared)
        | {ids[text] for text in found}
        | {fill_in[role] for role in _ENDING_ROLES if role in fill_in}
    )
