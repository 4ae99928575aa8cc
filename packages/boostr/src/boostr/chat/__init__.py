"""Conversations to prompts: Jinja templates of models, built-in formats, and the way a prompt becomes token ids.

Knows tokenizers, but no models and no HTTP. The parts are imported when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from boostr.chat.builtin import BUILTIN_TEMPLATES, builtin_template
    from boostr.chat.encoding import encode_chat
    from boostr.chat.messages import content_parts, normalize_messages
    from boostr.chat.resolve import resolve_template
    from boostr.chat.template import RESERVED_VARIABLES, ChatTemplate

__all__ = [
    "BUILTIN_TEMPLATES",
    "RESERVED_VARIABLES",
    "ChatTemplate",
    "builtin_template",
    "content_parts",
    "encode_chat",
    "normalize_messages",
    "resolve_template",
]

_MODULES = {
    "BUILTIN_TEMPLATES": "builtin",
    "RESERVED_VARIABLES": "template",
    "ChatTemplate": "template",
    "builtin_template": "builtin",
    "content_parts": "messages",
    "encode_chat": "encoding",
    "normalize_messages": "messages",
    "resolve_template": "resolve",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
