"""Built-in formats once dropped messages of roles they have no place for, and one let a role write control tokens."""

import pytest

from boostr.chat import ChatTemplate, builtin_template
from boostr.errors import TemplateRefusal


def render(name: str, role: str) -> str:
    messages = [{"role": "user", "content": "U"}, {"role": role, "content": "R"}]
    return ChatTemplate(builtin_template(name)[1], name).render(messages)


@pytest.mark.parametrize(
    ("name", "role"),
    [("mistral", "tool"), ("deepseek", "tool"), ("mistral", "User"), ("phi3", "end"), ("phi3", "endoftext"),
     ("phi3", "end|><|system")],
)  # fmt: skip
def test_a_role_without_a_place_is_refused(name: str, role: str) -> None:
    with pytest.raises(TemplateRefusal, match="no place for the role"):
        render(name, role)


@pytest.mark.parametrize("name", ["chatml", "llama3", "gemma", "generic", "phi3"])
def test_formats_that_write_the_role_take_tool_results(name: str) -> None:
    assert "R" in render(name, "tool")
