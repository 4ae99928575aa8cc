"""Which chat template a model uses.

Order: the override (a built-in name or a Jinja file), chat_template.jinja in the directory, tokenizer_config.json, the
GGUF metadata, the built-in format for the model type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boostr.chat.builtin import builtin_for_model, builtin_template, is_builtin
from boostr.chat.template import ChatTemplate
from boostr.errors import TemplateError
from boostr.formats.json_file import read_json_object

if TYPE_CHECKING:
    from boostr.tokenizers.base import Tokenizer

__all__ = ["resolve_template"]

_MAX_BYTES = 4 << 20
_GGUF_KEY = "tokenizer.chat_template"


def resolve_template(
    override: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    directory: str | Path | None = None,
    model_type: str | None = None,
    tokenizer: Tokenizer | None = None,
) -> ChatTemplate:
    """The template for a model.

    `directory` is the model's, None for a single file; `metadata` the GGUF keys; `tokenizer` gives the texts of BOS,
    EOS and the control tokens. Raises TemplateError for an override that is no template; a model's own template that
    does not compile is reported when it is first rendered, so that the model can still be used without chat.
    """
    if override is not None:
        template = _build(*_override(override), None, tokenizer)
        template.compile()
        return template
    own = (_from_directory(Path(directory)) if directory is not None else None) or _from_gguf(metadata or {})
    if own is not None:
        return _build(*own, tokenizer)
    name, text = builtin_for_model(model_type)
    return _build(text, f"builtin {name}", None, tokenizer)


def _override(override: str) -> tuple[str, str]:
    # A file that happens to be called "chatml" is meant only when it is named with its folder.
    path = Path(override)
    if not is_builtin(override) and _is_file(path):
        return _read(path), f"file {path.name}"
    name, text = builtin_template(override)
    return text, f"builtin {name}"


def _from_directory(directory: Path) -> tuple[str, str, str | None] | None:
    file = directory / "chat_template.jinja"
    if _is_file(file):
        return _read(file), "chat_template.jinja", None
    config = directory / "tokenizer_config.json"
    value = read_json_object(config).get("chat_template") if _is_file(config) else None
    if isinstance(value, str):
        return value, "tokenizer_config jinja", None
    named = _named_templates(value)
    return _chosen(named, "tokenizer_config jinja") if named else None


def _from_gguf(metadata: Mapping[str, Any]) -> tuple[str, str, str | None] | None:
    prefix = f"{_GGUF_KEY}."
    named = {
        key.removeprefix(prefix): value
        for key, value in metadata.items()
        if key.startswith(prefix) and isinstance(value, str)
    }
    default = metadata.get(_GGUF_KEY)
    if isinstance(default, str):
        named["default"] = default
    return _chosen(named, "gguf jinja") if named else None


def _named_templates(value: Any) -> dict[str, str]:
    """The list form of chat_template: [{"name": ..., "template": ...}, ...]."""
    entries = [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, Sequence) else []
    return {
        str(entry.get("name")): entry["template"] for entry in entries if isinstance(entry.get("template"), str)
    }  # fmt: skip


def _chosen(named: Mapping[str, str], source: str) -> tuple[str, str, str | None]:
    return named.get("default", next(iter(named.values()))), source, named.get("tool_use")


def _build(text: str, source: str, tool_text: str | None, tokenizer: Tokenizer | None) -> ChatTemplate:
    if tokenizer is None:
        return ChatTemplate(text, source, tool_text=tool_text)
    bos, eos = tokenizer.bos_token_id, tokenizer.eos_token_id
    return ChatTemplate(
        text,
        source,
        tool_text=tool_text,
        bos_token="" if bos is None else tokenizer.token_text(bos),
        eos_token="" if eos is None else tokenizer.token_text(eos),
        control_texts=tokenizer.special_tokens,
    )


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name too long for the file system, or with a NUL in it
        return False


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise TemplateError(f"{path} is larger than {_MAX_BYTES >> 20} MB: not a chat template")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TemplateError(f"the chat template {path} cannot be read: {error}") from error
