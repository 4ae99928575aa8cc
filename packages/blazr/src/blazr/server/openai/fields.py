"""Which request fields are known, honoured, harmless or refused; and how a body becomes a typed request.

A field that would change the answer and is not honoured is a 400 that names it, never ignored: tables, one place.
"""

import difflib
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from blazr.errors import RequestError

__all__ = ["parse_body", "read_object"]

T = TypeVar("T", bound=msgspec.Struct)

# Clients send these; they concern OpenAI's own operation and cannot change what a local model answers.
HARMLESS = frozenset(
    {"metadata", "store", "service_tier", "user", "safety_identifier", "prompt_cache_key", "prompt_cache_retention"}
    | {"parallel_tool_calls", "cache_prompt"}
)


def _off(*values: Any) -> Callable[[Any], bool]:
    """Whether a value is one of `values`, null, or an empty text or list: the ways to say that a feature is off."""
    return lambda value: value is None or value == "" or value == [] or any(value == one for one in values)


def _any(value: Any) -> bool:
    """For the knobs of a feature that is off."""
    return True


# Known fields that this server does not honour -> is this value the same as leaving the field out?
UNSUPPORTED: dict[str, Callable[[Any], bool]] = {
    "mirostat": _off(0),
    "mirostat_mode": _off(0),
    "mirostat_tau": _any,
    "mirostat_eta": _any,
    "dynatemp_range": _off(0),
    "dynatemp_exponent": _any,
    "dry_multiplier": _off(0),
    "dry_base": _any,
    "dry_allowed_length": _any,
    "dry_sequence_breakers": _any,
    "dry_penalty_last_n": _any,
    "xtc_probability": _off(0),
    "xtc_threshold": _any,
    "typical_p": _off(0, 1),
    "tfs_z": _off(0, 1),
    "grammar": _off(),
    "json_schema": _off({}),
    "response_format": _off({"type": "text"}),
    "lora": _off(),
    "functions": _off(),
    "function_call": _off("none"),
    "modalities": _off(["text"]),
    "audio": _off(),
    "prediction": _off(),
    "web_search_options": _off(),
    "verbosity": _off("medium"),
    "min_tokens": _off(0),
    "n_probs": _off(0),
}


def read_object(body: bytes) -> dict[str, Any]:
    """The body as a JSON object. Raises RequestError."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError(f"the body is not valid JSON: {error}", code="invalid_json") from error
    if not isinstance(value, dict):
        raise RequestError("the body must be a JSON object", code="invalid_json")
    return value


def parse_body(body: bytes, kind: type[T], elsewhere: Mapping[str, str] | None = None) -> T:
    """The body as a `kind`. `elsewhere` maps fields of other routes to a hint. Raises RequestError naming the field."""
    values = read_object(body)
    known = {field.encode_name for field in msgspec.structs.fields(kind)}
    for name in list(values):
        if name not in known:
            _refuse_unless_off(name, values.pop(name), known, elsewhere or {})
    try:
        return msgspec.convert(values, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        message, param = _located(str(error))
        raise RequestError(message, param) from error


def _refuse_unless_off(name: str, value: Any, known: set[str], elsewhere: Mapping[str, str]) -> None:
    if name in HARMLESS:
        return
    if name in elsewhere:
        if value is None:
            return
        raise RequestError(f"{name} is not a field of this route: {elsewhere[name]}", name, "unsupported_parameter")
    if name in UNSUPPORTED:
        if UNSUPPORTED[name](value):
            return
        raise RequestError(f"{name} is not supported by this server; leave it out", name, "unsupported_parameter")
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    raise RequestError(f"unknown field {name[:100]!r}{hint}", name[:100], "unknown_parameter")


def _located(message: str) -> tuple[str, str | None]:
    """msgspec says "Expected `int`, got `str` - at `$.max_tokens`": the text and the field's path."""
    match = re.search(r"^(.*) - at `(?:key in )?\$\.?(.*?)`$", message)
    if match is None:
        return message, None
    path = match.group(2)
    return f"{path}: {match.group(1)[0].lower()}{match.group(1)[1:]}", path or None
