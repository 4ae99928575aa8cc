"""The Jinja environment that templates of models run in: what transformers offers them, within limits.

Sandboxed and immutable; loops, calls, output and whatever makes texts or lists are metered by the current `Budget`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, NoReturn, cast

from jinja2 import Template, Undefined, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from boostr.chat.limits import (
    check_indent,
    check_joined,
    check_numbers,
    check_operands,
    check_size,
    check_text_method,
    check_words,
    current_budget,
)
from boostr.errors import TemplateRefusal

__all__ = ["TemplateEnvironment"]

# Jinja's own that no chat template needs and that would have to be metered.
_LEFT_OUT_GLOBALS = ("lipsum", "cycler", "joiner")
_LEFT_OUT_FILTERS = ("pprint", "urlize", "xmlattr", "wordwrap", "random")
# Filters whose work grows with the value they get; and those that take a width, by the check of their operands.
_SIZED_FILTERS = ("string", "upper", "lower", "escape", "list", "sort", "unique", "min", "max", "dictsort", "groupby")
_WIDE_FILTERS = {"format": "format", "replace": "replace", "indent": "indent", "center": "center", "batch": "center",
                 "slice": "center", "truncate": "center"}  # fmt: skip
_WORD_FILTERS = ("title", "wordcount", "striptags")
_COMPARING_TESTS = ("eq", "equalto", "==", "ne", "!=", "lt", "lessthan", "<", "le", "<=", "gt", "greaterthan", ">",
                    "ge", ">=", "in")  # fmt: skip


class GenerationTag(Extension):
    """`{% generation %}` marks what training learns from; its body is rendered as if the tag were not there."""

    tags = {"generation"}  # noqa: RUF012 - declared so by Jinja

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class TemplateEnvironment(ImmutableSandboxedEnvironment):
    """Compiles and runs one template's text. Rendering needs a `Budget` in `current_budget`."""

    intercepted_binops = frozenset(["+", "-", "*", "/", "//", "%", "**"])

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            optimized=False,  # nothing is computed while compiling, where no limit would hold
            finalize=_bounded,
            extensions=[GenerationTag, loopcontrols],
        )
        for name in _LEFT_OUT_GLOBALS:
            del self.globals[name]
        for name in _LEFT_OUT_FILTERS:
            del self.filters[name]
        self.globals.update(raise_exception=_refuse, strftime_now=_strftime_now)
        for name in _SIZED_FILTERS:
            self.filters[name] = _sized(self.filters[name])
        for name, method in _WIDE_FILTERS.items():
            self.filters[name] = _sized(self.filters[name], method)
        for name in _COMPARING_TESTS:
            self.tests[name] = _sized(cast(Callable[..., Any], self.tests[name]))
        for name in _WORD_FILTERS:
            self.filters[name] = _of_words(self.filters[name])
        self.filters.update({"join": _join, "sum": _sum, "tojson": _tojson})
        for name, function in self.filters.items():
            self.filters[name] = _making(function)
        self.filters.update({"_metered": _metered, "_bounded": _bounded, "_joined": _joined, "_made": _made})
        # Every join of rendered pieces: the whole output, macros, set blocks and filter blocks.
        self.concat = _concat  # type: ignore[method-assign]

    def compile_text(self, text: str) -> Template:
        """A template whose loops, comparisons and concatenations are metered. Raises jinja2's TemplateSyntaxError."""
        tree = _Meters().visit(self.parse(text))
        return Template.from_code(self, self.compile(tree, filename="<chat template>"), self.make_globals(None))

    def call(self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        current_budget.get().step()
        method = getattr(__obj, "__wrapped__", __obj)  # str.format arrives in the sandbox's own wrapper
        owner = getattr(method, "__self__", None)
        if isinstance(owner, str):
            name = str(getattr(method, "__name__", ""))
            if name == "join" and args:
                args = (check_joined(args[0], owner), *args[1:])
            check_text_method(name, owner, (*args, *kwargs.values()))
        for given in args:
            if isinstance(given, dict):  # dict() and namespace() copy what they are given
                _made(given)
        return _made(super().call(__context, __obj, *args, **kwargs))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        check_operands(operator, left, right)
        return _made(super().call_binop(context, operator, left, right))


class _Meters(NodeTransformer):
    # Puts a filter around what Jinja would otherwise run without passing through the environment.

    def visit_For(self, node: nodes.For) -> nodes.For:
        self.generic_visit(node)
        node.iter = _filtered(node.iter, "_metered")
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Filter:
        self.generic_visit(node)
        return _filtered(nodes.List(node.nodes, lineno=node.lineno), "_joined")

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:
        self.generic_visit(node)
        return _filtered(node, "_made") if isinstance(node.arg, nodes.Slice) else node

    def visit_Compare(self, node: nodes.Compare) -> nodes.Compare:
        self.generic_visit(node)
        node.expr = _filtered(node.expr, "_bounded")
        for operand in node.ops:
            operand.expr = _filtered(operand.expr, "_bounded")
        return node


def _filtered(expression: Any, name: str) -> nodes.Filter:
    return nodes.Filter(expression, name, [], [], None, None, lineno=expression.lineno)


def _metered(items: Any) -> Iterable[Any]:
    return items if isinstance(items, Undefined) else current_budget.get().count(items)


def _bounded(value: Any) -> Any:
    check_size(value)
    return value


def _made(value: Any) -> Any:
    current_budget.get().made_one(value)
    return value


def _joined(parts: list[Any]) -> str:
    check_size(parts)
    joined = "".join(map(str, parts))
    _made(joined)
    return joined


def _concat(pieces: Iterable[str]) -> str:
    return current_budget.get().join(pieces)


def _join(value: Iterable[Any], d: str = "", attribute: str | int | None = None) -> str:
    # As Jinja's, without its escaping: attribute is a key or a position of each item.
    items = value if attribute is None else [_attribute(item, attribute) for item in value]
    return str(d).join(map(str, check_joined(items, d)))


def _sum(iterable: Iterable[Any], attribute: str | int | None = None, start: Any = 0) -> Any:
    # As Jinja's, of numbers only.
    items = iterable if attribute is None else [_attribute(item, attribute) for item in iterable]
    return sum(check_numbers([start, *items]))


def _attribute(item: Any, name: str | int) -> Any:
    for part in str(name).split("."):
        key: str | int = int(part) if part.isdecimal() else part
        try:
            item = item[key]
        except (LookupError, TypeError):
            return Undefined(obj=item, name=str(part))
    return item


def _sized(function: Callable[..., Any], method: str | None = None) -> Callable[..., Any]:
    """A filter or test of Jinja with the size of its operands checked; some get Jinja's context as first argument."""
    passes = getattr(function, "jinja_pass_arg", None)

    def sized(*args: Any, **kwargs: Any) -> Any:
        current_budget.get().step()
        subject, *operands = args[1:] if passes is not None else args
        for operand in (subject, *operands):
            check_size(operand)
        if method is not None:
            check_text_method(method, str(subject) if method != "center" else "", (*operands, *kwargs.values()))
        return function(*args, **kwargs)

    if passes is not None:
        sized.jinja_pass_arg = passes  # type: ignore[attr-defined]
    return sized


def _of_words(function: Callable[[str], Any]) -> Callable[[str], Any]:
    def cutting(text: str) -> Any:
        check_words(text)
        return function(text)

    return cutting


def _making(function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter whose result counts as made."""

    def making(*args: Any, **kwargs: Any) -> Any:
        current_budget.get().step()
        return _made(function(*args, **kwargs))

    if (passes := getattr(function, "jinja_pass_arg", None)) is not None:
        making.jinja_pass_arg = passes  # type: ignore[attr-defined]
    return making


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """JSON as transformers' templates get it: no HTML escapes, characters as they are, floats as Python writes them."""
    current_budget.get().step()
    check_size(value)
    check_indent(indent)
    pair = None if separators is None else (str(separators[0]), str(separators[1]))
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=pair, sort_keys=sort_keys)


def _refuse(message: Any = "") -> NoReturn:
    raise TemplateRefusal(str(message))


def _strftime_now(pattern: Any) -> str:
    text = str(pattern)[:1000]
    check_text_method("format", text, ())
    return datetime.now().strftime(text)
