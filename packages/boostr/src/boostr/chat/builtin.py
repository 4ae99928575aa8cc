"""Prompt formats for models that ship no template, by name.

Each is a small Jinja template, so that one path renders everything. A name that is not known is an error: the wrong
format gives fluent nonsense.
"""

from __future__ import annotations

from boostr.errors import TemplateError

__all__ = ["BUILTIN_TEMPLATES", "builtin_for_model", "builtin_template", "is_builtin"]

_FOR_EACH = "{% for message in messages %}"
_END = "{% endfor %}"
# Formats with a place for some roles only: a message left out would change the answer without a word.
_NO_PLACE = "{{ raise_exception('this chat format has no place for the role ' + message.role) }}"


def _ask(text: str) -> str:
    return "{% if add_generation_prompt %}{{ '" + text + "' }}{% endif %}"


# DeepSeek's marks are written with U+FF5C and U+2581, as its vocabulary has them; ASCII bars would be plain text.
_BAR, _LOW = "\uff5c", "\u2581"
_DS_BEGIN = f"<{_BAR}begin{_LOW}of{_LOW}sentence{_BAR}>"
_DS_END = f"<{_BAR}end{_LOW}of{_LOW}sentence{_BAR}>"

BUILTIN_TEMPLATES: dict[str, str] = {
    "chatml": _FOR_EACH
    + "{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    + _END
    + _ask("<|im_start|>assistant\\n"),
    "llama3": "{{ '<|begin_of_text|>' }}"
    + _FOR_EACH
    + "{{ '<|start_header_id|>' + message.role + '<|end_header_id|>\\n\\n' + message.content + '<|eot_id|>' }}"
    + _END
    + _ask("<|start_header_id|>assistant<|end_header_id|>\\n\\n"),
    # The system text waits for the next user turn. Neither this format nor gemma's writes BOS: the tokenizer adds it.
    "mistral": "{% set held = namespace(text='') %}"
    + _FOR_EACH
    + "{% if message.role == 'system' %}{% set held.text = message.content + '\\n\\n' %}"
    "{% elif message.role == 'user' %}"
    "{{ '[INST] ' + held.text + message.content + ' [/INST]' }}{% set held.text = '' %}"
    "{% elif message.role == 'assistant' %}{{ ' ' + message.content + '</s>' }}"
    "{% else %}" + _NO_PLACE + "{% endif %}" + _END,
    # The role is part of a mark, so a role of the request's own making could write any mark.
    "phi3": _FOR_EACH
    + "{% if message.role not in ('system', 'user', 'assistant', 'tool') %}" + _NO_PLACE + "{% endif %}"
    "{{ '<|' + message.role + '|>\\n' + message.content + '<|end|>\\n' }}"
    + _END
    + _ask("<|assistant|>\\n"),
    "gemma": _FOR_EACH
    + "{% set role = 'model' if message.role == 'assistant' else message.role %}"
    "{{ '<start_of_turn>' + role + '\\n' + message.content + '<end_of_turn>\\n' }}"
    + _END
    + _ask("<start_of_turn>model\\n"),
    "deepseek": "{{ '" + _DS_BEGIN + "' }}" + _FOR_EACH + "{% if message.role == 'system' %}{{ message.content }}"
    "{% elif message.role == 'user' %}{{ '<" + _BAR + "User" + _BAR + ">' + message.content }}"
    "{% elif message.role == 'assistant' %}"
    "{{ '<" + _BAR + "Assistant" + _BAR + ">' + message.content + '" + _DS_END + "' }}"
    "{% else %}" + _NO_PLACE + "{% endif %}"
    + _END
    + _ask(f"<{_BAR}Assistant{_BAR}>"),
    "generic": _FOR_EACH + "{{ message.role + ': ' + message.content + '\\n' }}" + _END + _ask("assistant: "),
}  # fmt: skip

_ALIASES = {
    "llama": "llama3",
    "llama2": "mistral",
    "qwen": "chatml",
    "yi": "chatml",
    "phi": "phi3",
    "gemma2": "gemma",
    "raw": "generic",
}

_BY_MODEL_TYPE = {
    "llama": "llama3",
    "mistral": "mistral",
    "qwen2": "chatml",
    "qwen2_moe": "chatml",
    "yi": "chatml",
    "internlm2": "chatml",
    "phi3": "phi3",
    "phi": "phi3",
    "gemma": "gemma",
    "gemma2": "gemma",
    "deepseek_v2": "deepseek",
    "deepseek_v3": "deepseek",
    "starcoder2": "generic",
    "codellama": "generic",
}


def builtin_template(name: str) -> tuple[str, str]:
    """The (canonical name, Jinja text) of a built-in format or an alias. Raises TemplateError listing the names."""
    canonical = _ALIASES.get(name, name)
    if canonical not in BUILTIN_TEMPLATES:
        known = ", ".join([*BUILTIN_TEMPLATES, *(f"{alias} ({target})" for alias, target in _ALIASES.items())])
        raise TemplateError(f"there is no built-in chat template {name[:80]!r}; the names are: {known}; or give a file")
    return canonical, BUILTIN_TEMPLATES[canonical]


def is_builtin(name: str) -> bool:
    """Whether `name` is a built-in format or an alias of one."""
    return name in BUILTIN_TEMPLATES or name in _ALIASES


def builtin_for_model(model_type: str | None) -> tuple[str, str]:
    """The format that models of this type are usually tuned with; `generic` where nothing is known."""
    return builtin_template(_BY_MODEL_TYPE.get(model_type or "", "generic"))
