"""The built-in formats, byte for byte."""

from __future__ import annotations

import pytest

from boostr.chat import BUILTIN_TEMPLATES, ChatTemplate, builtin_template
from boostr.chat.builtin import builtin_for_model
from boostr.errors import TemplateError

MESSAGES = [
    {"role": "system", "content": "S"},
    {"role": "user", "content": "U"},
    {"role": "assistant", "content": "A"},
    {"role": "user", "content": "V"},
]
EXPECTED = {
    "chatml": "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\nA<|im_end|>\n"
    "<|im_start|>user\nV<|im_end|>\n<|im_start|>assistant\n",
    "llama3": "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|>"
    "<|start_header_id|>user<|end_header_id|>\n\nU<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nA<|eot_id|>"
    "<|start_header_id|>user<|end_header_id|>\n\nV<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
    "mistral": "[INST] S\n\nU [/INST] A</s>[INST] V [/INST]",
    "phi3": "<|system|>\nS<|end|>\n<|user|>\nU<|end|>\n<|assistant|>\nA<|end|>\n<|user|>\nV<|end|>\n<|assistant|>\n",
    "gemma": "<start_of_turn>system\nS<end_of_turn>\n<start_of_turn>user\nU<end_of_turn>\n"
    "<start_of_turn>model\nA<end_of_turn>\n<start_of_turn>user\nV<end_of_turn>\n<start_of_turn>model\n",
    "deepseek": "<｜begin▁of▁sentence｜>S<｜User｜>U<｜Assistant｜>A<｜end▁of▁sentence｜><｜User｜>V<｜Assistant｜>",
    "generic": "system: S\nuser: U\nassistant: A\nuser: V\nassistant: ",
}


def render(name, messages, **options):
    return ChatTemplate(builtin_template(name)[1], name).render(messages, **options)


def test_every_format_is_checked():
    assert EXPECTED.keys() == BUILTIN_TEMPLATES.keys()


@pytest.mark.parametrize("name", EXPECTED)
def test_format(name):
    assert render(name, MESSAGES) == EXPECTED[name]


@pytest.mark.parametrize("name", EXPECTED)
def test_without_generation_prompt(name):
    # What follows the last turn is left out; mistral writes nothing there anyway.
    prompt = render(name, MESSAGES, add_generation_prompt=False)
    assert EXPECTED[name].startswith(prompt)
    assert render(name, MESSAGES[:3], add_generation_prompt=False) in EXPECTED[name]
    assert (prompt == EXPECTED[name]) == (name == "mistral")


def test_content_is_written_as_it_is():
    content = " {{ x }} <b> 'q' \"d\" \\n \n\n"
    assert content in render("chatml", [{"role": "user", "content": content}])


def test_mistral_holds_a_system_text_for_the_next_user_turn_only():
    messages = [MESSAGES[1], MESSAGES[2], {"role": "system", "content": "T"}, MESSAGES[3], MESSAGES[2], MESSAGES[1]]
    assert render("mistral", messages) == "[INST] U [/INST] A</s>[INST] T\n\nV [/INST] A</s>[INST] U [/INST]"


@pytest.mark.parametrize(
    ("alias", "name"),
    [("llama", "llama3"), ("llama2", "mistral"), ("qwen", "chatml"), ("yi", "chatml"), ("phi", "phi3"),
     ("gemma2", "gemma"), ("raw", "generic")],
)  # fmt: skip
def test_aliases(alias, name):
    assert builtin_template(alias) == (name, BUILTIN_TEMPLATES[name])


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(TemplateError, match=r"'nonsense'.*chatml.*deepseek.*raw \(generic\)"):
        builtin_template("nonsense")


@pytest.mark.parametrize(
    ("model_type", "name"),
    [("llama", "llama3"), ("mistral", "mistral"), ("qwen2_moe", "chatml"), ("internlm2", "chatml"), ("phi", "phi3"),
     ("gemma2", "gemma"), ("deepseek_v3", "deepseek"), ("starcoder2", "generic"), ("new", "generic"),
     (None, "generic")],
)  # fmt: skip
def test_the_format_of_a_model_type(model_type, name):
    assert builtin_for_model(model_type)[0] == name
