"""From a path to a DecisionModel: which family it is, where its base lies, and what is loaded. Holds no numerics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boostr.decision.family import Family
from boostr.decision.model import DecisionModel
from boostr.decision.prefix_cache import PrefixCache
from boostr.errors import ConfigError, ModelNotFoundError, ParameterError

if TYPE_CHECKING:
    from boostr.generate.language_model import LanguageModel

__all__ = ["FAMILIES", "find_base", "load", "recognise"]

# In the order in which they are asked whether a model is theirs.
FAMILIES = {"decider": "Decider", "jebadiah": "Jebadiah", "kev": "Kev", "clef": "Clef"}

_ADAPTER = "adapter_config.json"


def load(
    path: str | Path,
    family: str | None = None,
    base: str | Path | None = None,
    *,
    limits: Any = None,
    context_length: int | None = None,
    prefix_cache_mb: int = 0,
) -> DecisionModel:
    """Load a decision model from a directory, a GGUF file, or a hub id that is already in the Hugging Face cache.

    family          "decider", "jebadiah", "kev" or "clef"; None: told by the sidecars, then by a GGUF header
    base            of a release that holds only an adapter; None: where the adapter says, beside it or in the cache
    limits          the family's own limits class (KevLimits, ...), or None for the vendor's numbers
    context_length  at most what the model was trained for
    prefix_cache_mb MiB for states of earlier requests' state prefixes (see PrefixCache); 0 keeps none

    Weights multiply float32 activations ("precise"). Raises ParameterError for an unknown family, ConfigError where no
    family or several are recognised, ModelNotFoundError for a base that is not here, and all that boostr.load raises.
    """
    from boostr.hub import resolve_model

    found = resolve_model(path)
    directory = found if found.is_dir() else found.parent
    chosen = family_class(family) if family is not None else recognise(found)
    chosen.check(directory)
    model = _load_model(found, directory, base, context_length)
    try:
        return DecisionModel(model, chosen.open(model, directory, limits=limits), PrefixCache(prefix_cache_mb << 20))
    except BaseException:
        (model.base or model).close()
        raise


def family_class(name: str) -> type[Family]:
    """The class of a family by its name. Raises ParameterError."""
    if name not in FAMILIES:
        raise ParameterError(f"family is {name!r}: known are {', '.join(FAMILIES)}", "family")
    found: type[Family] = getattr(import_module(f"boostr.decision.{name}"), FAMILIES[name])
    return found


def recognise(path: Path) -> type[Family]:
    """The family whose sidecar lies beside the weights, or that a GGUF header names. Raises ConfigError."""
    directory = path if path.is_dir() else path.parent
    for metadata in ({}, _header(path)):
        found = [name for name in FAMILIES if family_class(name).recognise(directory, metadata)]
        if len(found) > 1:
            raise ConfigError(f"{path} could be a model of the families {' and '.join(found)}: say which, with family")
        if found:
            return family_class(found[0])
    raise ConfigError(
        f"{path} is no decision model that can be told: no sidecar of {', '.join(FAMILIES)} lies there and no GGUF "
        "header names one; say the family"
    )


def find_base(directory: Path, named: Sequence[str], given: str | Path | None, revision: str | None = None) -> Path:
    """Where the base of an adapter lies: as given, else by each name beside the adapter, then in the hub cache.

    revision  a commit of the base that the cache is asked for first; any other will do
    """
    from boostr.hub import cached_snapshot, resolve_model

    if given is not None:
        return resolve_model(given)
    for name in named:
        beside = directory.absolute().parent / Path(name).name
        if Path(name).name not in ("", "..", directory.absolute().name) and beside.exists():
            return beside
        pinned = cached_snapshot(name, revision) if revision is not None else None
        if pinned is not None:
            return pinned
        try:
            return resolve_model(name)
        except ModelNotFoundError:
            continue
    raise ModelNotFoundError(
        f"{directory} holds an adapter of {' or '.join(named) or 'a model it does not name'}, which is neither beside "
        "it nor in the Hugging Face cache: pull it, or give base"
    )


def _load_model(found: Path, directory: Path, base: str | Path | None, context_length: int | None) -> LanguageModel:
    from boostr.generate.load import load as load_model

    if not (found.is_dir() and (found / _ADAPTER).is_file()):
        return load_model(found, precise=True, context_length=context_length)
    from boostr.peft import PeftAdapter

    named, revision = _bases(directory)
    found_base = find_base(directory, named, base, revision)
    whole = load_model(found_base, precise=True, context_length=context_length)
    try:
        return whole.derive_with_adapter(PeftAdapter.load(directory))
    except BaseException:
        whole.close()
        raise


def _bases(directory: Path) -> tuple[Sequence[str], str | None]:
    """Names of an adapter's base, and the commit that it was trained on where one is told."""
    from boostr.decision.kev.config import HEAD, KevConfig
    from boostr.formats.json_file import read_json_object

    if (directory / HEAD).is_file():
        config = KevConfig.read(directory)
        return config.bases, config.base_revision
    named = read_json_object(directory / _ADAPTER).get("base_model_name_or_path")
    return ((named,) if isinstance(named, str) and named else ()), None


def _header(path: Path) -> Mapping[str, Any]:
    """Metadata of a GGUF file, or of the one in a directory; nothing of other models."""
    from boostr.formats import open_checkpoint

    if path.is_dir() and not any(path.glob("*.gguf")):
        return {}
    checkpoint = open_checkpoint(path)
    try:
        tags = checkpoint.metadata.get("general.tags")
        texts = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, Sequence) else []
        return {**checkpoint.metadata, "general.tags": texts}
    finally:
        checkpoint.close()
