"""What a model is, read from headers and JSON alone. Never reads weights, and knows no architecture's code.

The two dialects (GGUF keys, Hugging Face config.json) are one table: a fact, its GGUF key, its config keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blazr.lifecycle.layers import working_set
from blazr.lifecycle.protocol import ModelDescription
from blazr.lifecycle.resolve import ResolvedModel, modified_at
from blazr.lifecycle.variants import Variant
from boostr.errors import BoostrError

if TYPE_CHECKING:
    from boostr.formats import Checkpoint

__all__ = ["ModelFacts", "describe_model", "describe_variant", "read_facts"]

# fact: (GGUF key after "<architecture>.", keys of a flattened config.json in order)
_KEYS: dict[str, tuple[str, tuple[str, ...]]] = {
    "hidden_size": ("embedding_length", ("hidden_size", "n_embd", "d_model")),
    "num_layers": ("block_count", ("num_hidden_layers", "num_layers", "n_layer")),
    "num_heads": ("attention.head_count", ("num_attention_heads", "n_head")),
    "num_kv_heads": ("attention.head_count_kv", ("num_key_value_heads", "num_kv_heads")),
    "head_dim": ("attention.key_length", ("head_dim",)),
    "vocab_size": ("vocab_size", ("vocab_size",)),
    "context_length": ("context_length", ("max_position_embeddings", "max_seq_len", "n_positions")),
    "intermediate_size": ("feed_forward_length", ("intermediate_size", "n_inner")),
}
_EMBEDDINGS = ("token_embd.weight", "model.embed_tokens.weight", "embed_tokens.weight")
_LICENCE_FILES = ("licen[sc]e*", "LICEN[SC]E*", "COPYING*")


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Unknown values are None. Sizes in bytes; `chat_template` says where the template comes from."""

    name: str
    path: str
    format: str
    architecture: str | None
    parameters: int
    quantization: str
    size: int
    hidden_size: int | None = None
    num_layers: int | None = None
    num_heads: int | None = None
    num_kv_heads: int | None = None
    head_dim: int | None = None
    vocab_size: int | None = None
    context_length: int | None = None
    intermediate_size: int | None = None
    chat_template: str | None = None
    licence: str | None = None
    working_set: int | None = None  # the largest layer, and what belongs to none
    tensors: Mapping[str, int] = field(default_factory=dict)  # dtype: how many

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def read_facts(model: ResolvedModel, chat_template: str | None = None) -> ModelFacts:
    """Facts of the model at a path; `chat_template` overrides its own. Raises BoostrError where it is no model."""
    return _read(model, chat_template)[0]


def describe_model(model: ResolvedModel, chat_template: str | None = None) -> ModelDescription:
    """For the server. A file that cannot be read still has a name and a size: listing models must not fail for it."""
    created = int(modified_at(model.path))
    try:
        facts, text = _read(model, chat_template)
    except (BoostrError, OSError):
        return ModelDescription(model.name, str(model.path), created, size=_plain_size(model.path))
    return ModelDescription(
        id=model.name,
        path=str(model.path),
        created=created,
        size=facts.size,
        format=facts.format,
        family=facts.architecture,
        parameter_size=format_parameters(facts.parameters),
        quantization=facts.quantization,
        context_length=facts.context_length,
        chat_template=facts.chat_template,
        chat_template_text=text,
        info={
            "model_type": facts.architecture,
            "vocab_size": facts.vocab_size,
            "hidden_size": facts.hidden_size,
            "num_layers": facts.num_layers,
            "num_kv_heads": facts.num_kv_heads,
            "head_dim": facts.head_dim,
            "max_seq_len": facts.context_length,
        },
        working_set=facts.working_set,
    )


def describe_variant(base: ModelDescription, variant: Variant) -> ModelDescription:
    """A variant as models are listed: its base's facts under its own name, with where it comes from."""
    extra = {
        "base": base.id,
        "path": str(variant.path),
        "rank": variant.rank,
        "adapted_modules": variant.module_count,
    }
    return replace(
        base,
        id=variant.id,
        path=str(variant.path),
        created=variant.created,
        size=variant.nbytes,
        extra={**base.extra, **extra},
    )


def format_parameters(count: int) -> str:
    """134515008 as '135M', 1235814400 as '1.2B'."""
    for unit, size in (("B", 10**9), ("M", 10**6), ("K", 10**3)):
        if count >= size:
            value = count / size
            return f"{value:.1f}{unit}" if value < 10 else f"{value:.0f}{unit}"
    return str(count)


def _read(model: ResolvedModel, chat_template: str | None) -> tuple[ModelFacts, str | None]:
    from boostr.formats import checkpoint_facts, open_checkpoint

    checkpoint = open_checkpoint(model.path)
    try:
        counted = checkpoint_facts(checkpoint)
        architecture, values = _dimensions(checkpoint)
        source, text = _template(checkpoint, architecture, chat_template)
        facts = ModelFacts(
            name=model.name,
            path=str(model.path),
            format=counted.format,
            architecture=architecture,
            parameters=counted.parameters,
            quantization=counted.quantization,
            size=counted.file_bytes,
            chat_template=source,
            licence=_licence(checkpoint),
            working_set=working_set(checkpoint, values["num_layers"]),
            tensors={name: one.tensors for name, one in counted.dtypes.items()},
            **values,
        )
    finally:
        checkpoint.close()
    return facts, text


def _dimensions(checkpoint: Checkpoint) -> tuple[str | None, dict[str, int | None]]:
    """The architecture and the numbers of `_KEYS`, with what follows from others filled in."""
    if checkpoint.format == "gguf":
        architecture = _text(checkpoint.metadata.get("general.architecture"))
        values = {name: _whole(checkpoint.metadata.get(f"{architecture}.{key}")) for name, (key, _) in _KEYS.items()}
    else:
        from boostr.formats.hf_config import normalise_config

        config = normalise_config(checkpoint.config or {})
        architecture = _text(config.get("model_type"))
        values = {
            name: next((v for k in keys if (v := _whole(config.get(k)))), None) for name, (_, keys) in _KEYS.items()
        }
    for name in _EMBEDDINGS:
        if name in checkpoint.names():
            shape = checkpoint.info(name).shape
            values["vocab_size"] = values["vocab_size"] or shape[0]
            values["hidden_size"] = values["hidden_size"] or shape[-1]
    hidden, heads = values["hidden_size"], values["num_heads"]
    values["num_kv_heads"] = values["num_kv_heads"] or heads
    if values["head_dim"] is None and hidden and heads:
        values["head_dim"] = hidden // heads
    return architecture, values


def _template(checkpoint: Checkpoint, architecture: str | None, override: str | None) -> tuple[str | None, str | None]:
    from boostr.chat import resolve_template

    template = resolve_template(
        override,
        metadata=checkpoint.metadata,
        directory=checkpoint.path if checkpoint.path.is_dir() else None,
        model_type=architecture or "",
        tokenizer=None,
    )
    return template.source, template.text


def _licence(checkpoint: Checkpoint) -> str | None:
    """First line of a licence file beside a model directory's weights, else what the GGUF file says."""
    if checkpoint.path.is_dir():
        for path in sorted(path for pattern in _LICENCE_FILES for path in checkpoint.path.glob(pattern)):
            with path.open(encoding="utf-8", errors="replace") as stream:
                first = next((line.strip() for line in stream.read(4096).splitlines() if line.strip()), None)
            if first:
                return first[:200]
    return _text(checkpoint.metadata.get("general.license"))


def _plain_size(path: Path) -> int:
    try:
        return sum(one.stat().st_size for one in ([path] if path.is_file() else path.iterdir()) if one.is_file())
    except OSError:
        return 0


def _whole(value: object) -> int | None:
    # A list or array gives one number a layer (hybrid models): the largest is what memory is planned with.
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        value = max((item for item in value if isinstance(item, int)), default=None)
    return int(value) if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
