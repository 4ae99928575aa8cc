"""Which template a model uses, and the name it is reported under."""

from __future__ import annotations

import json

import pytest

from boostr.chat import resolve_template
from boostr.errors import TemplateError

GGUF = {"tokenizer.chat_template": "from gguf"}


@pytest.fixture
def directory(tmp_path):
    (tmp_path / "chat_template.jinja").write_text("from jinja file")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": "from config"}))
    return tmp_path


def found(**where):
    template = resolve_template(**where)
    return template.source, template.text


def test_order(directory):
    everything = {"metadata": GGUF, "directory": directory, "model_type": "llama"}
    assert found(override="chatml", **everything)[0] == "builtin chatml"
    assert found(**everything) == ("chat_template.jinja", "from jinja file")
    (directory / "chat_template.jinja").unlink()
    assert found(**everything) == ("tokenizer_config jinja", "from config")
    (directory / "tokenizer_config.json").unlink()
    assert found(**everything) == ("gguf jinja", "from gguf")
    assert found(model_type="llama", directory=directory)[0] == "builtin llama3"
    assert found()[0] == "builtin generic"


def test_an_override_may_be_a_file_or_an_alias(tmp_path):
    (tmp_path / "my.jinja").write_text("mine")
    assert found(override=str(tmp_path / "my.jinja")) == ("file my.jinja", "mine")
    assert found(override="qwen")[0] == "builtin chatml"


@pytest.mark.parametrize("override", ["nonsense", "no/such/file.jinja", "", "a\0b", "x" * 5000])
def test_an_override_that_is_neither_lists_the_names(override):
    with pytest.raises(TemplateError, match="chatml"):
        resolve_template(override)


def test_an_override_that_does_not_compile_is_refused_at_once(tmp_path):
    (tmp_path / "bad.jinja").write_text("{% if %}")
    with pytest.raises(TemplateError, match=r"bad\.jinja"):
        resolve_template(str(tmp_path / "bad.jinja"))


def test_a_model_s_own_broken_template_is_reported_when_used():
    template = resolve_template(metadata={"tokenizer.chat_template": "{% if %}"})
    with pytest.raises(TemplateError, match="gguf jinja"):
        template.render([{"role": "user", "content": "x"}])


def test_a_list_of_templates_names_its_default_and_its_tool_variant(tmp_path):
    named = [{"name": "tool_use", "template": "tools"}, {"name": "default", "template": "plain"}]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": named}))
    template = resolve_template(directory=tmp_path)
    assert (template.source, template.text, template.tool_text) == ("tokenizer_config jinja", "plain", "tools")


def test_a_gguf_file_may_hold_variants():
    template = resolve_template(metadata=GGUF | {"tokenizer.chat_template.tool_use": "tools"})
    assert (template.source, template.text, template.tool_text) == ("gguf jinja", "from gguf", "tools")


@pytest.mark.parametrize("value", [None, 3, [], {}, [{"name": "default"}], [3]])
def test_a_config_without_a_usable_template_is_passed_over(value, tmp_path):
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": value}))
    assert found(directory=tmp_path, model_type="qwen2")[0] == "builtin chatml"


def test_the_template_sees_the_tokens_of_the_tokenizer(tokenizer):
    template = resolve_template(
        metadata={"tokenizer.chat_template": "{{ bos_token }}|{{ eos_token }}"}, tokenizer=tokenizer
    )
    assert template.render([{"role": "user", "content": "x"}]) == "<s>|</s>"
    assert "<|im_end|>" in template.control_texts


def test_without_a_tokenizer_both_are_empty():
    template = resolve_template(metadata={"tokenizer.chat_template": "[{{ bos_token }}{{ eos_token }}]"})
    assert template.render([{"role": "user", "content": "x"}]) == "[]"


def test_a_template_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "x.jinja").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TemplateError, match=r"x\.jinja"):
        resolve_template(str(tmp_path / "x.jinja"))
