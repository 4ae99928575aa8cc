"""Rendering: what templates of real models rely on, and how failures are reported."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime

import pytest

from boostr.chat import ChatTemplate
from boostr.errors import ParameterError, TemplateError, TemplateRefusal

CHATML = """{%- for message in messages %}
    {%- if loop.first and messages[0].role != 'system' %}
        {{- '<|im_start|>system\nBe helpful.<|im_end|>\n' }}
    {%- endif %}
    {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}
"""
ALTERNATING = """{{ bos_token }}{% for message in messages %}
{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}
{% endif %}
{% if message['role'] == 'user' %}[INST] {{ message['content'] }} [/INST]
{%- else %} {{ message['content'] + eos_token }}{% endif %}
{% endfor %}"""
LLAMA_TOOLS = """{{- bos_token }}
{%- if tools is not none %}{{ 'Environment: ipython\n' }}
{%- for t in tools %}{{ t | tojson(indent=4) }}{{ '\n' }}{% endfor %}{% endif %}
{%- for message in messages %}
{%- if message.tool_calls is defined %}{% set call = message.tool_calls[0].function %}
{{- '{"name": "' + call.name + '", "parameters": ' }}{{ call.arguments | tojson }}{{ '}' }}
{%- else %}{{ '[' + message.role + ']' + message.content | trim }}{% endif %}
{%- endfor %}"""
USER = {"role": "user", "content": "Hi"}


def render(text, messages=(USER,), **variables):
    return ChatTemplate(text, "test", bos_token="<s>", eos_token="</s>").render(list(messages), **variables)


def test_chatml_with_a_default_system_text():
    assert render(CHATML) == (
        "<|im_start|>system\nBe helpful.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )
    assert render(CHATML, add_generation_prompt=False).endswith("Hi<|im_end|>\n")


def test_a_refusal_carries_the_template_s_message():
    with pytest.raises(
        TemplateRefusal, match=r"^Conversation roles must alternate user/assistant/user/assistant/\.\.\.$"
    ):
        render(ALTERNATING, [USER, USER])


def test_blocks_leave_no_blank_lines_behind():
    reply = {"role": "assistant", "content": "Yes"}
    assert render(ALTERNATING, [USER, reply, USER]) == "<s>[INST] Hi [/INST] Yes</s>[INST] Hi [/INST]"


def test_tools_and_earlier_calls_are_objects():
    call = {"type": "function", "function": {"name": "get", "arguments": '{"city": "Köln", "n": 1.0}'}}
    messages = [USER, {"role": "assistant", "content": None, "tool_calls": [call]}]
    text = render(LLAMA_TOOLS, messages, tools=[{"type": "function", "function": {"name": "get"}}])
    assert '"parameters": {"city": "Köln", "n": 1.0}}' in text
    assert '{\n    "type": "function"' in text


def test_a_template_that_pastes_arguments_gets_them_as_text():
    call = {"function": {"name": "get", "arguments": '{"a":1}'}}
    template = "{% for call in messages[0].tool_calls %}{{ 'x' + call.function.arguments }}{% endfor %}"
    assert render(template, [{"role": "assistant", "tool_calls": [call]}]) == 'x{"a":1}'


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("{'a': 'é<b>&', 'b': [1, 2.5, true, none]} | tojson", '{"a": "é<b>&", "b": [1, 2.5, true, null]}'),
        ("{'b': 1, 'a': 2} | tojson(separators=(',', ':'))", '{"b":1,"a":2}'),
        ("{'b': 1, 'a': 2} | tojson(sort_keys=true)", '{"a": 2, "b": 1}'),
        ("'é' | tojson(ensure_ascii=true)", '"\\u00e9"'),
        ("1e-7 | tojson", "1e-07"),
        ("0.1 + 0.2", "0.30000000000000004"),
        ("100000000000000000000.0", "1e+20"),
        ("['a', 'b'] | join(', ')", "a, b"),
        ("messages | map(attribute='role') | join('/')", "user"),
        ("messages | selectattr('role', 'equalto', 'user') | list | length", "1"),
        ("'a-b'.split('-')[1].strip().upper()", "B"),
        ("'%s is %d' | format('x', 3)", "x is 3"),
        ("'{} {}'.format('x', 3)", "x 3"),
        ("('a' ~ 1 ~ none) | replace('a', 'b')", "b1None"),
        ("(['x'] + ['y'])[-1]", "y"),
        ("undefined_name is defined", "False"),
        ("'lines\nof' | indent(2)", "lines\n  of"),
    ],
)
def test_expressions_as_transformers_evaluates_them(expression, expected):
    assert render("{{ " + expression + " }}") == expected


def test_namespaces_macros_and_loop_controls():
    text = (
        "{% set ns = namespace(n=0) %}{% macro twice(x) %}{{ x }}{{ x }}{% endmacro %}"
        "{% for i in range(10) %}{% if i == 1 %}{% continue %}{% elif i == 4 %}{% break %}{% endif %}"
        "{% set ns.n = ns.n + i %}{{ twice(i) }}{{ ',' if not loop.last }}{% endfor %}{{ ns.n }}"
    )
    assert render(text) == "00,22,33,5"


def test_loop_variables_and_recursive_loops_work_though_metered():
    text = "{% for x in 'abc' %}{{ loop.length }}{{ loop.revindex }}{{ loop.previtem }}{{ loop.nextitem }} {% endfor %}"
    assert render(text) == "33b 32ac 31b "
    tree = "{% for n in tree recursive %}{{ n.v }}{% if n.c %}({{ loop(n.c) }}){% endif %}{% endfor %}"
    assert render(tree, tree=[{"v": 1, "c": [{"v": 2}, {"v": 3}]}, {"v": 4}]) == "1(23)4"


def test_the_generation_tag_is_transparent():
    assert render("a{% generation %}{{ messages[0].content }}{% endgeneration %}b") == "aHib"


def test_strftime_now():
    assert render("{{ strftime_now('%Y') }}") == str(datetime.now().year)


def test_think_is_enable_thinking_and_other_variables_go_by_their_names():
    text = "{{ enable_thinking is defined }} {{ enable_thinking }} {{ reasoning_effort }} {{ custom.a }}"
    assert render(text, think=True, reasoning_effort="high", custom={"a": 1}) == "True True high 1"
    assert render("{{ enable_thinking is defined }}", think=None) == "False"
    assert render("{{ enable_thinking }}", think=True, enable_thinking=False) == "False"


def test_tools_use_their_own_variant_where_there_is_one():
    template = ChatTemplate("plain", "test", tool_text="with tools")
    assert template.render([USER]) == "plain"
    assert template.render([USER], tools=[]) == "plain"
    assert template.render([USER], tools=[{"type": "function"}]) == "with tools"


@pytest.mark.parametrize("name", ["messages", "raise_exception"])
def test_what_the_template_relies_on_cannot_be_replaced(name):
    with pytest.raises(ParameterError, match=name):
        ChatTemplate("x", "test").render([USER], **{name: 1})


@pytest.mark.parametrize(
    "text", ["{% if %}", "{{ a", "{% nosuchtag %}", "{{ x | nosuchfilter }}", "{{" + "(" * 5000 + "}}"]
)
def test_a_template_that_does_not_compile(text):
    with pytest.raises(TemplateError, match=r"test.*does not compile"):
        ChatTemplate(text, "test").compile()


@pytest.mark.parametrize(
    "text", ["{{ a.b.c }}", "{{ 1 / 0 }}", "{{ [] + 'a' }}", "{{ messages[9].role }}", "{% include 'x' %}"]
)
def test_a_template_that_fails_is_a_template_error(text):
    with pytest.raises(TemplateError, match=r"chat template \(test\)"):
        render(text)


def test_importing_the_package_loads_neither_jinja_nor_tokenizers():
    code = "import sys, boostr.chat, boostr.tokenizers; print({'jinja2', 'tokenizers'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
