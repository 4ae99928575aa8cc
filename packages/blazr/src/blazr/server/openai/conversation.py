"""From a chat request's fields to a prompt: checks, template, token ids. Runs in a worker thread, since templates may.

Text of messages never becomes a control token: the template's own text and the request's are tokenized apart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from blazr.errors import RequestError
from blazr.server.openai.schemas import ChatRequest
from blazr.server.texts import refuse_hopeless
from boostr.chat import (
    RESERVED_VARIABLES,
    ChatTemplate,
    content_parts,
    encode_chat,
    normalize_messages,
    resolve_template,
)
from boostr.chat.builtin import BUILTIN_TEMPLATES, is_builtin
from boostr.errors import TemplateError
from boostr.generate.language_model import LanguageModel

__all__ = ["Conversation", "render_conversation"]

_MEDIA = {"image_url": "images", "image": "images", "input_image": "images", "input_audio": "audio", "file": "files"}
_OPENERS = ("<think>",)


@dataclass(frozen=True, slots=True)
class Conversation:
    """A rendered conversation."""

    text: str
    ids: Sequence[int]
    tools: bool  # the template was given tools, so the answer may hold calls
    thinking: bool  # the prompt ends inside a think block

    def __post_init__(self) -> None:
        if not self.ids:
            raise RequestError("the conversation renders to an empty prompt", "messages")


def render_conversation(fields: ChatRequest, model: LanguageModel) -> Conversation:
    """Raises RequestError, ParameterError, TemplateError or TemplateRefusal."""
    tokenizer = model.require_tokenizer()
    messages = _messages(fields)
    tools = _tools(fields)
    if fields.raw:
        if tools or fields.template:
            name = "tools" if tools else "template"
            raise RequestError(f"{name} cannot be used with raw, which renders no template", name)
        text = "\n".join(str(message["content"]) for message in normalize_messages(messages))
        refuse_hopeless(text, model)
        return Conversation(text, tokenizer.encode(text), False, _opens_thinking(text))
    template = _template(fields.template, model)
    if tools and "tools" not in (template.tool_text or template.text):
        raise RequestError(
            f"this model's chat template ({template.source}) has no place for tools; leave tools out, or start the "
            "server with another --chat-template",
            "tools",
            "unsupported_parameter",
        )
    ask = True if fields.add_generation_prompt is None else fields.add_generation_prompt
    segments = template.render_segments(messages, tools=tools, add_generation_prompt=ask, **_variables(fields))
    text = "".join(part for part, _ in segments)
    refuse_hopeless(text, model)
    return Conversation(text, encode_chat(tokenizer, segments), bool(tools), _opens_thinking(text))


def _messages(fields: ChatRequest) -> list[dict[str, Any]]:
    messages = [_checked(message, index) for index, message in enumerate(fields.messages)]
    if not messages:
        raise RequestError("messages is empty: send at least one message", "messages")
    if fields.system is not None and not any(message.get("role") == "system" for message in messages):
        messages.insert(0, {"role": "system", "content": fields.system})
    return messages


def _checked(message: Mapping[str, Any], index: int) -> dict[str, Any]:
    for part in content_parts(message):
        kind = part.get("type")
        if kind in _MEDIA:
            raise RequestError(
                f"messages[{index}] holds {_MEDIA[kind]}, and this server was started without --mmproj",
                f"messages[{index}].content",
                "unsupported_content",
            )
    # Templates know no developers; OpenAI's newer name for the system role means the same to a local model.
    return {**message, "role": "system"} if message.get("role") == "developer" else dict(message)


def _tools(fields: ChatRequest) -> list[dict[str, Any]] | None:
    choice = fields.tool_choice
    if choice == "none" or not fields.tools:
        if choice not in (None, "none", "auto"):
            raise RequestError("tool_choice asks for a call, and the request has no tools", "tool_choice")
        return None
    if choice not in (None, "auto"):
        raise RequestError(
            "tool_choice can be 'auto' or 'none': a call cannot be forced on this server",
            "tool_choice",
            "unsupported_parameter",
        )
    for index, tool in enumerate(fields.tools):
        function = tool.get("function")
        if tool.get("type", "function") != "function" or not isinstance(function, dict) or not function.get("name"):
            raise RequestError(f"tools[{index}] must be of type function, with a name", f"tools[{index}]")
    return fields.tools


def _template(name: str | None, model: LanguageModel) -> ChatTemplate:
    if name is not None:
        # Names only: a request must not make the server read files.
        if not is_builtin(name):
            known = ", ".join(BUILTIN_TEMPLATES)
            raise RequestError(f"template {name[:40]!r} is not a built-in chat template: {known}", "template")
        return resolve_template(name, tokenizer=model.tokenizer)
    if model.chat_template is None:
        raise TemplateError(f"model {model.name} has no chat template; start the server with --chat-template")
    return model.chat_template


def _variables(fields: ChatRequest) -> dict[str, Any]:
    variables = dict(fields.chat_template_kwargs or {})
    taken = RESERVED_VARIABLES.intersection(variables)
    if taken:
        raise RequestError(f"chat_template_kwargs cannot set {sorted(taken)[0]}", "chat_template_kwargs")
    if fields.think is not None:
        variables["think"] = fields.think
    if fields.reasoning_effort is not None:
        variables["reasoning_effort"] = fields.reasoning_effort
    return variables


def _opens_thinking(text: str) -> bool:
    return text.rstrip().endswith(_OPENERS)
