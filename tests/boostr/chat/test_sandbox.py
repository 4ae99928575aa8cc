"""Hostile templates: nothing outside the sandbox is reached, and every rendering ends soon and small."""

from __future__ import annotations

import threading
import time

import pytest

from boostr.chat import ChatTemplate
from boostr.errors import TemplateError

GROW = "{% set ns = namespace(x='aaaaaaaaaaaaaaaa', y=[1], z=[1]) %}{% for i in range(64) %}"

ESCAPES = {
    "class": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "globals of a function": "{{ raise_exception.__globals__['os'] }}",
    "lipsum": "{{ lipsum.__globals__['os'].popen('id').read() }}",
    "template": "{{ self.__init__.__globals__ }}",
    "format": "{{ '{0.__class__.__mro__}'.format('') }}",
    "change of messages": "{{ messages.append(1) }}",
    "change of a dict": "{{ messages[0].update({'a': 1}) }}",
    "generator frame": "{{ (messages | map('upper')).gi_frame.f_globals }}",
}
ENDLESS = {
    "range": "{% for i in range(10**9) %}x{% endfor %}",
    "nested loops without output": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "filtered loop": "{% for i in range(99999) %}{% for j in range(99999) if j < 0 %}x{% endfor %}{% endfor %}",
    "recursive macro": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "branching macro": "{% macro f(n) %}{% if n %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    "recursive loop": "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
    "nested map": "{% for i in range(99999) %}{{ range(99999) | map('string') | list | length }}{% endfor %}",
}
HUGE = {
    "output": "{% for i in range(99999) %}{{ 'a' * 1000 }}{% endfor %}",
    "power": "{{ 99999 ** 99999 ** 9 }}",
    "product": "{{ (2**4000) * (2**4000) }}",
    "repeated text": "{{ 'a' * 10**10 }}",
    "repeated list": "{{ [0] * 10**10 }}",
    "doubling ~": GROW + "{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
    "doubling +": GROW + "{% set ns.x = ns.x + ns.x %}{% endfor %}",
    "doubling set": GROW + "{% set y %}{{ ns.x }}{{ ns.x }}{% endset %}{% set ns.x = y %}{% endfor %}",
    "doubling join": GROW + "{% set ns.x = [ns.x, ns.x] | join %}{% endfor %}",
    "doubling format": GROW + "{% set ns.x = '%s%s' % (ns.x, ns.x) %}{% endfor %}",
    "list of lists": GROW + "{% set ns.y = [ns.y, ns.y] %}{% endfor %}{{ ns.y }}",
    "list of lists as JSON": GROW + "{% set ns.y = [ns.y, ns.y] %}{% endfor %}{{ ns.y | tojson }}",
    "list of lists compared": GROW
    + "{% set ns.y = [ns.y, ns.y] %}{% set ns.z = [ns.z, ns.z] %}{% endfor %}{{ ns.y == ns.z }}",
    "ljust": "{{ 'a'.ljust(10**10) }}",
    "center": "{{ 'a' | center(10**10) }}",
    "map center": "{{ ['a'] | map('center', 10**10) | list }}",
    "format": "{{ '{:>9999999999}'.format(1) }}",
    "format of a width": "{{ '{:>{w}}'.format(1, w=10**10) }}",
    "percent": "{{ '%9999999999d' % 1 }}",
    "percent of a width": "{{ '%*d' % (10**10, 1) }}",
    "format filter": "{{ '%9999999999d' | format(1) }}",
    "batch": "{{ [1] | batch(10**10, 'x') | list }}",
    "slice": "{{ [1] | slice(10**10) | list }}",
    "indent": "{{ ('\n' * 100000) | indent(100000) }}",
    "tojson indent": "{{ [1] | tojson(indent=10**9) }}",
    "join": "{{ ('b' * 1000000).join('a' * 1000000) }}",
    "replace": "{{ ('a' * 1000000).replace('a', 'b' * 1000000) }}",
    "replace filter": "{{ ('a' * 1000000) | replace('a', 'b' * 1000000) }}",
    "expandtabs": "{{ ('\t' * 100000).expandtabs(10000) }}",
    "strftime": "{{ strftime_now('%99999999Y') }}",
}


def render(text):
    return ChatTemplate(text, "test", seconds=0.3).render([{"role": "user", "content": "hi"}])


@pytest.mark.parametrize("text", ESCAPES.values(), ids=ESCAPES.keys())
def test_nothing_outside_the_sandbox_is_reached(text):
    with pytest.raises(TemplateError):
        render(text)


@pytest.mark.parametrize("text", [*ENDLESS.values(), *HUGE.values()], ids=[*ENDLESS.keys(), *HUGE.keys()])
def test_every_rendering_ends_soon(text):
    started = time.perf_counter()
    with pytest.raises(TemplateError, match=r"chat template \(test\)"):
        render(text)
    assert time.perf_counter() - started < 5.0


def test_the_time_limit_holds_off_the_main_thread():
    failures: list[str] = []

    def work():
        try:
            render(ENDLESS["nested loops without output"])
        except TemplateError as error:
            failures.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
    assert "longer than 0.3 seconds" in failures[0]


def test_nothing_is_computed_while_compiling():
    started = time.perf_counter()
    ChatTemplate("{{ 'a' | center(10**10) }}{{ 99999 ** 99999 ** 9 }}", "test").compile()
    assert time.perf_counter() - started < 5.0, "computing the power takes longer than anybody waits"


def test_a_template_of_megabytes_is_refused():
    with pytest.raises(TemplateError, match="longer than"):
        ChatTemplate("x" * 2_000_000, "test")


def test_a_long_conversation_renders_within_the_limits():
    text = "{% for m in messages %}{{ '<|im_start|>' + m.role + m.content + '<|im_end|>' }}{% endfor %}"
    messages = [{"role": "user", "content": "word " * 200}] * 2000
    assert len(ChatTemplate(text, "test").render(messages)) > 2_000_000
