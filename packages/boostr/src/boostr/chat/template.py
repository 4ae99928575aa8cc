"""A chat template: Jinja text, where it came from, and rendering of a conversation within limits.

Knows nothing of token ids; `render_segments` says which parts of the prompt are the template's own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from boostr.chat.injection import Disguise, strings_of
from boostr.chat.messages import normalize_messages, parse_tool_arguments
from boostr.errors import ParameterError, TemplateError

if TYPE_CHECKING:
    from jinja2 import Template

__all__ = ["RESERVED_VARIABLES", "ChatTemplate"]

RESERVED_VARIABLES = frozenset({"messages", "tools", "add_generation_prompt", "raise_exception", "strftime_now"})
_MAX_TEXT = 1 << 20  # published templates end near 30 KB


class ChatTemplate:
    """One model's template.

    source         where it came from: "gguf jinja", "tokenizer_config jinja", "chat_template.jinja", "builtin chatml",
                   "file my.jinja"
    text           the Jinja text
    tool_text      the variant used when a request has tools, where the model ships one
    bos_token, eos_token   as the template sees them
    control_texts  texts that the tokenizer turns into control tokens
    """

    def __init__(
        self,
        text: str,
        source: str,
        *,
        bos_token: str = "",
        eos_token: str = "",
        control_texts: Collection[str] = (),
        tool_text: str | None = None,
        seconds: float | None = None,
    ) -> None:
        for candidate in (text, tool_text or ""):
            if len(candidate) > _MAX_TEXT:
                raise TemplateError(f"the chat template ({source}) is longer than {_MAX_TEXT} characters")
        self.text = text
        self.source = source
        self.tool_text = tool_text
        self.bos_token = bos_token
        self.eos_token = eos_token
        self.control_texts = tuple(control_texts)
        self._seconds = seconds

    def __repr__(self) -> str:
        return f"<ChatTemplate {self.source}>"

    def compile(self) -> None:
        """Raises TemplateError naming the line where the text is not Jinja. Rendering compiles on its own."""
        self._compiled(False)
        self._compiled(True)

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        /,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = True,
        **variables: Any,
    ) -> str:
        """The prompt as one text.

        `variables` reach the template by their names; `think` is passed as `enable_thinking`. Raises ParameterError for
        messages that are not a conversation, TemplateRefusal with the template's own message, TemplateError otherwise.
        """
        ready = normalize_messages(messages)
        return self._render(ready, tools or None, add_generation_prompt, _named(variables))

    def render_segments(
        self,
        messages: Sequence[Mapping[str, Any]],
        /,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = True,
        **variables: Any,
    ) -> list[tuple[str, bool]]:
        """The prompt in parts (text, parse_special) for `encode_chat`.

        parse_special is False for text of the request that spells a control token. Without such text the parts are what
        `render` returns, byte for byte. Raises as `render`.
        """
        ready = normalize_messages(messages)
        named = _named(variables)
        disguise = Disguise(self.control_texts, strings_of([ready, tools, named]), self.text + (self.tool_text or ""))
        if disguise:
            try:
                ready, tools, named = disguise.messages(ready), disguise.value(tools), disguise.value(named)
            except RecursionError as error:
                raise ParameterError("messages or tools are nested too deeply", "messages") from error
        return disguise.segments(self._render(ready, tools or None, add_generation_prompt, named))

    def _render(
        self,
        messages: list[dict[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None,
        add_generation_prompt: bool,
        variables: dict[str, Any],
    ) -> str:
        template = self._compiled(tools is not None)
        values = {
            "bos_token": self.bos_token,
            "eos_token": self.eos_token,
            **variables,
            "tools": tools,
            "add_generation_prompt": add_generation_prompt,
        }
        parsed = parse_tool_arguments(messages)
        try:
            return self._run(template, {**values, "messages": parsed})
        except TemplateError as error:
            # Some templates paste the arguments of earlier calls as text, which fails for an object.
            if not isinstance(error.__cause__, TypeError) or parsed == messages:
                raise
        return self._run(template, {**values, "messages": messages})

    def _run(self, template: Template, values: dict[str, Any]) -> str:
        from boostr.chat.limits import MAX_SECONDS, Budget, current_budget

        token = current_budget.set(Budget(MAX_SECONDS if self._seconds is None else self._seconds))
        try:
            return template.render(values)
        except TemplateError:
            raise
        except RecursionError as error:
            raise TemplateError(f"the chat template ({self.source}) recurses without end") from error
        except MemoryError as error:
            raise TemplateError(f"the chat template ({self.source}) needs too much memory") from error
        except Exception as error:  # a template can raise anything that its expressions can
            raise TemplateError(f"the chat template ({self.source}) failed: {error}") from error
        finally:
            current_budget.reset(token)

    def _compiled(self, with_tools: bool) -> Template:
        return self._tool_template if with_tools and self.tool_text is not None else self._plain_template

    @cached_property
    def _plain_template(self) -> Template:
        return _compile(self.text, self.source)

    @cached_property
    def _tool_template(self) -> Template:
        return _compile(self.tool_text or self.text, self.source)


@lru_cache(maxsize=32)
def _compile(text: str, source: str) -> Template:
    from jinja2 import TemplateSyntaxError

    from boostr.chat.sandbox import TemplateEnvironment

    try:
        return TemplateEnvironment().compile_text(text)
    except TemplateSyntaxError as error:
        raise TemplateError(
            f"the chat template ({source}) does not compile: line {error.lineno}: {error.message}"
        ) from error
    except (RecursionError, SyntaxError, ValueError, MemoryError) as error:
        raise TemplateError(f"the chat template ({source}) does not compile: {error}") from error


def _named(variables: Mapping[str, Any]) -> dict[str, Any]:
    taken = RESERVED_VARIABLES.intersection(variables)
    if taken:
        raise ParameterError(f"{sorted(taken)[0]} cannot be set as a template variable", "chat_template_kwargs")
    named = {name: value for name, value in variables.items() if name != "think"}
    if variables.get("think") is not None:
        named.setdefault("enable_thinking", variables["think"])
    return named
