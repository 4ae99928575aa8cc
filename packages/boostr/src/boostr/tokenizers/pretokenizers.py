"""How each byte-level BPE vocabulary cuts a text into words before merging: regular expressions by name.

The names are what GGUF files write under `tokenizer.ggml.pre`; the expressions are those the models were trained with.
Expressions of one name run in turn, each over the pieces that the one before left; what no expression matches is a
piece as well.
"""

from __future__ import annotations

from dataclasses import dataclass

from boostr.errors import TokenizerError

__all__ = ["PRETOKENIZERS", "Pretokenizer", "find_pretokenizer"]

_CONTRACTION = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)"

# Latin, Greek, Cyrillic and other scripts with case, as DeepSeek's tokenizer.json lists them.
_CASED = (
    "A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373"
    "\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f"
    "\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77"
    "\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-"
    "\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec"
    "\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-"
    "\u2134\u2139\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3"
    "\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17"
    "\uff21-\uff3a\uff41-\uff5a\U00010400-\U0001044f\U000104b0-\U000104d3\U000104d8-\U000104fb\U00010c80-"
    "\U00010cb2\U00010cc0-\U00010cf2\U000118a0-\U000118df\U0001e900-\U0001e943"
)
_CJK = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"
_KANA = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"


def _modern(digits: str, word: str = r"\p{L}+", other: str = r"[^\s\p{L}\p{N}]+[\r\n]*") -> str:
    # The shape that GPT-4 began: a word takes one leading character that is not a letter, digits come in short groups.
    return rf"{_CONTRACTION}|[^\r\n\p{{L}}\p{{N}}]?{word}|{digits}| ?{other}|{_SPACES}"


def _cased_words(digits: str, suffix: str) -> str:
    # A word ends where a capital follows a small letter (GPT-4o, tekken). These are the models' own expressions;
    # llama.cpp knows case in ASCII only and splits at combining marks, so its ids differ for other scripts.
    upper, lower = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
    lead = r"[^\r\n\p{L}\p{N}]?"
    words = rf"{lead}{upper}*{lower}+{suffix}|{lead}{upper}+{lower}*{suffix}"
    return rf"{words}|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_SPACES}"


_DEEPSEEK3 = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    rf"| ?[\p{{P}}\p{{S}}]+[\r\n]*|{_SPACES}"
)
_SENTENCE_MARKS = r" ?[^(\s|.,!?…。，、।۔،)]+"
_BAILING = (
    r"'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s+"
)
_CHAMELEON_MARKS = (r"<sentinel:[0-9]+>", r"(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", r"([\t\n]|    |  )")


@dataclass(frozen=True, slots=True)
class Pretokenizer:
    """`patterns` in Oniguruma syntax. `ignore_merges`: a word that is a token is that token, whatever merges say.
    `add_bos`: what a file means that does not say."""

    patterns: tuple[str, ...]
    ignore_merges: bool = False
    add_bos: bool = False


_LLAMA3 = Pretokenizer((_modern(r"\p{N}{1,3}"),), ignore_merges=True, add_bos=True)
_LLAMA3_MERGED = Pretokenizer((_modern(r"\p{N}{1,3}"),))
_GLM4 = Pretokenizer((_modern(r"\p{N}{1,3}"),), ignore_merges=True)
_QWEN2 = Pretokenizer((_modern(r"\p{N}"),))
_QWEN35 = Pretokenizer((_modern(r"\p{N}", r"[\p{L}\p{M}]+", r"[^\s\p{L}\p{M}\p{N}]+[\r\n]*"),))
_PLAIN_GPT2 = Pretokenizer((_GPT2,))
_DIGITS_FIRST = Pretokenizer((r"\p{N}", _GPT2))
_DEEPSEEK_V3 = Pretokenizer((r"\p{N}{1,3}", _KANA, _DEEPSEEK3))
_GPT4O = Pretokenizer((_cased_words(r"\p{N}{1,3}", _CONTRACTION + "?"),))
_BLOOM = Pretokenizer((_SENTENCE_MARKS,))

_BY_RULE: tuple[tuple[Pretokenizer, str], ...] = (
    (_LLAMA3, "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2"),
    (_LLAMA3_MERGED, "dbrx smaug-bpe chatglm-bpe"),
    (_GLM4, "glm4 glm5"),
    (_QWEN2, "qwen2 deepseek-r1-qwen kormo megrez stablelm2 hunyuan solar-open grok-2"),
    (_QWEN35, "qwen35"),
    (_PLAIN_GPT2, "gpt-2 phi-2 mpt olmo jais trillion gigachat a.x-4.0 mellum exaone4 granite-docling"),
    (_DIGITS_FIRST, "smollm starcoder refact command-r codeshell exaone minerva-7b mellum2"),
    (_DEEPSEEK_V3, "deepseek-v3 hunyuan-dense joyai-llm"),
    (_GPT4O, "gpt-4o llama4 kanana2 minimax-m2"),
    (_BLOOM, "bloom gpt3-finnish poro-chat"),
)

_ALONE: dict[str, Pretokenizer] = {
    "default": Pretokenizer((r"[\p{P}\$\+<=>\^~\|]+", _GPT2, r"\p{N}+", "[0-9][0-9][0-9]")),
    "falcon": Pretokenizer((r"[\p{P}\$\+<=>\^~\|`]+", _GPT2, "[0-9][0-9][0-9]")),
    # The model's own file counts U+3000 as punctuation, llama.cpp as white space; its ids are followed here.
    "deepseek-llm": Pretokenizer(
        (r"[\r\n]", rf"\s?[{_CASED}]+", "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3001-\u3002]+", r"\s+$",
         _CJK, r"\p{N}+")
    ),
    "deepseek-coder": Pretokenizer((r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", _CJK, r"\p{N}")),
    "viking": Pretokenizer((_SENTENCE_MARKS, r"\p{N}")),
    "tekken": Pretokenizer((_cased_words(r"\p{N}", ""),), ignore_merges=True, add_bos=True),
    "chameleon": Pretokenizer((*_CHAMELEON_MARKS, r"\p{N}", r"[\p{P}!-/:-@\[-`{-~]", _GPT2), add_bos=True),
    "bailingmoe": Pretokenizer((_BAILING,)),
    "seed-coder": Pretokenizer((_modern(r"\p{N}", other=r"[^\s\p{L}\p{N}\r\n]+"),)),
    "minicpm5": Pretokenizer((r"\p{N}{1,3}", _modern(r"\p{N}+")), ignore_merges=True),
}  # fmt: skip

PRETOKENIZERS: dict[str, Pretokenizer] = _ALONE | {name: rule for rule, names in _BY_RULE for name in names.split()}


def find_pretokenizer(name: str) -> Pretokenizer:
    """The rule of that name. Raises TokenizerError listing the known names: a guess would tokenize almost right."""
    if name not in PRETOKENIZERS:
        known = ", ".join(sorted(PRETOKENIZERS))
        raise TokenizerError(f"tokenizer.ggml.pre is {name[:80]!r}, which is not known; the known ones are: {known}")
    return PRETOKENIZERS[name]
