"""Templates that once took gigabytes, or minutes, in a few operations that nothing counted."""

import resource
import sys
import time

import pytest

from boostr.chat import ChatTemplate, limits
from boostr.errors import TemplateError

LONG = "{% set s = 'a' * 16000000 %}{% set ns = namespace(kept=[]) %}{% for i in range(100000) %}"
HOSTILE = {
    "translated": "{{ ('a' * 1000000).translate({97: 'b' * 1000000}) | length }}",
    "mapped": "{% set x = ['a' * 1000000] * 100000 %}{{ x | map('upper') | join | length }}",
    "listed": "{% set x = ['a' * 1000000] * 100000 %}{{ x | map('lower') | list | length }}",
    "slices": LONG + "{% set ns.kept = [ns.kept, s[i:]] %}{% endfor %}",
    "methods": LONG + "{% set ns.kept = [ns.kept, s.upper()] %}{% endfor %}",
    "bytes": LONG + "{% set ns.kept = [ns.kept, s.encode()] %}{% endfor %}",
    "filters": LONG + "{% set ns.kept = [ns.kept, s | replace('a', 'b', 1)] %}{% endfor %}",
    "joined": LONG + "{% set ns.kept = [ns.kept, s[1:] ~ 'b'] %}{% endfor %}",
    "added": LONG + "{% set ns.kept = [ns.kept, s[1:] + 'b'] %}{% endfor %}",
    "blocks": LONG + "{% set x %}{{ s }}{% endset %}{% set ns.kept = [ns.kept, x] %}{% endfor %}",
    "macros": "{% macro m() %}{{ 'a' * 16000000 }}{% endmacro %}"
    + LONG
    + "{% set ns.kept = [ns.kept, m()] %}{% endfor %}",
    "split": "{{ (',' * 16000000).split(',') | length }}",
    "words": "{{ ('a ' * 8000000).split() | length }}",
    "lines": "{{ ('\n' * 16000000).splitlines() | length }}",
    "copies": "{% set d = dict(range(90000) | batch(2)) %}{% set ns = namespace(kept=[]) %}{% for i in range(100000) %}"
    "{% set ns.kept = [ns.kept, d.copy()] %}{% endfor %}",
    "namespaces": "{% set d = dict(range(90000) | map('string') | batch(2)) %}{% set ns = namespace(kept=[]) %}"
    "{% for i in range(100000) %}{% set ns.kept = [ns.kept, namespace(d)] %}{% endfor %}",
    "lists of lists": "{{ ([['a'] * 1000] * 100000) | sum(start=[]) | length }}",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_it_is_stopped_early(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_MADE_BYTES", 128 << 20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.monotonic()
    with pytest.raises(TemplateError):
        ChatTemplate(HOSTILE[name], "hostile").render([{"role": "user", "content": "x"}])
    assert time.monotonic() - began < 8, "it was the time limit that stopped it"
    if sys.platform == "linux":  # where it counts kilobytes
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 700_000


def test_a_slow_operation_is_not_repeated_past_the_time_limit() -> None:
    text = "{% for i in range(1000) %}{% set x = ('a,' * 200000).split(',') %}{% endfor %}"
    began = time.monotonic()
    with pytest.raises(TemplateError, match=r"longer than|made more than"):
        ChatTemplate(text, "slow", seconds=0.3).render([{"role": "user", "content": "x"}])
    assert time.monotonic() - began < 5


def test_what_templates_do_with_text_still_works() -> None:
    text = (
        "{% set c = messages[0].content %}{{ c.split('</think>')[-1] }}|{{ c[2:5] }}|{{ c | title }}|"
        "{{ c.split() | join('+') }}|{{ [1, 2.5] | sum }}|"
        "{{ [{'n': 2}, {'n': 3}] | sum(attribute='n') }}|{{ c.splitlines() | length }}"
    )
    rendered = ChatTemplate(text, "plain").render([{"role": "user", "content": "plan </think>go on"}])
    assert rendered == "go on|an |Plan </think>go On|plan+</think>go+on|3.5|5|1"
