"""What the header of a GGUF file says of the family of its model. Knows no family's files."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

__all__ = ["declared_family", "named_by_header"]


def declared_family(metadata: Mapping[str, Any]) -> str | None:
    """The family that `<architecture>.decision.type` names, in which case nothing else counts."""
    named = metadata.get(f"{metadata.get('general.architecture')}.decision.type")
    return None if named is None else str(named)


def named_by_header(metadata: Mapping[str, Any], family: str, prefixes: tuple[str, ...], tags: Set[str]) -> bool:
    """Whether a header is of `family`: declared, else by basename, by a name that begins so, or by all of `tags`."""
    declared = declared_family(metadata)
    if declared is not None:
        return declared == family
    found = metadata.get("general.tags")
    return (
        str(metadata.get("general.basename", "")).lower() == family
        or str(metadata.get("general.name", "")).lower().startswith(prefixes)
        or (isinstance(found, list | tuple) and all(tag in found for tag in tags))
    )
