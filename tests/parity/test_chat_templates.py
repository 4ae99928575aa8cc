"""Published chat templates against transformers' own rendering. BOOSTR_TEMPLATE_DIR names a folder of .jinja files.

llama.cpp's source tree has some seventy under models/templates. Part of the parity session.
"""

import json
import os
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from boostr.chat import ChatTemplate
from boostr.errors import TemplateError

chat_template_utils = pytest.importorskip("transformers.utils.chat_template_utils")

FOLDER = os.environ.get("BOOSTR_TEMPLATE_DIR")
FILES = sorted(Path(FOLDER).glob("*.jinja")) if FOLDER else []

FUNCTION = {
    "name": "get_weather",
    "description": "Weather, also in Köln",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "n": {"enum": [1, 2.5]}}},
}
TOOLS = [{"type": "function", "function": FUNCTION}]
SYSTEM = {"role": "system", "content": "Be nice."}
USER = {"role": "user", "content": "Hi  there <b>é\n"}
REPLY = {"role": "assistant", "content": "<think>\nhmm</think>\n\nHello"}
CALLED = {"name": "get_weather", "arguments": {"city": "Paris", "n": 1.0}}
CALL = {"role": "assistant", "content": "", "tool_calls": [{"id": "call12345", "type": "function", "function": CALLED}]}
RESULT = {"role": "tool", "tool_call_id": "call12345", "name": "get_weather", "content": '{"t": 3}'}
CONVERSATIONS: list[tuple[list[dict[str, Any]], list[dict[str, Any]] | None]] = [
    ([USER], None),
    ([SYSTEM, USER, REPLY, USER], None),
    ([USER, CALL, RESULT], TOOLS),
    ([SYSTEM, USER, CALL, RESULT, REPLY, USER], TOOLS),
]


def as_sent(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """OpenAI's wire form: arguments are JSON text."""
    sent = deepcopy(messages)
    for message in sent:
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = json.dumps(call["function"]["arguments"])
    return sent


def theirs(text: str, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None) -> str | None:
    try:
        prompts, _ = chat_template_utils.render_jinja_template(
            conversations=[messages],
            tools=tools,
            chat_template=text,
            add_generation_prompt=True,
            bos_token="<s>",
            eos_token="</s>",
        )
    except Exception:  # whatever a template raises
        return None
    prompt: str = prompts[0]
    return prompt


@pytest.mark.skipif(not FILES, reason="BOOSTR_TEMPLATE_DIR names no folder with .jinja files")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("index", range(len(CONVERSATIONS)))
def test_prompts_are_those_of_transformers(path: Path, index: int) -> None:
    messages, tools = CONVERSATIONS[index]
    text = path.read_text("utf-8")
    expected = theirs(text, messages, tools)
    template = ChatTemplate(text, path.name, bos_token="<s>", eos_token="</s>", control_texts=["<|im_end|>"])
    if expected is None:
        # Ours may still render it: it gives a template that pastes arguments the text of them.
        pytest.skip("transformers cannot render this conversation with this template")
    try:
        assert template.render(as_sent(messages), tools=tools) == expected
    except TemplateError as error:
        pytest.fail(str(error))
