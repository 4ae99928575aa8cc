"""From a path to a LanguageModel: finds the files, builds the network, tokenizer and template. Holds no numerics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from boostr.errors import ConfigError, ParameterError
from boostr.generate.language_model import LanguageModel

if TYPE_CHECKING:
    from boostr.formats import Checkpoint
    from boostr.quant import Activations
    from boostr.tokenizers.base import Tokenizer

__all__ = ["load"]

Progress = Callable[[int, int], None]


def load(
    path: str | Path,
    dtype: str | None = None,
    precise: bool = False,
    *,
    activations: Activations | None = None,
    context_length: int | None = None,
    chat_template: str | None = None,
    cache_dtype: str | None = None,
    progress: Progress | None = None,
) -> LanguageModel:
    """Load a model from a directory, a file, or a hub id that is already in the Hugging Face cache.

    dtype           None keeps weights in their stored type; "float32", "float16", "bfloat16" convert dense ones.
    precise         multiply by float32 activations, where quantized weights else meet ones rounded to int16 or int8.
    activations     "int8", "int16" or "float32" for all quantized weights, whatever is usual for their type.
    context_length  at most what the model was trained for; None takes that.
    chat_template   a built-in name or a Jinja file, in place of the model's own template.
    cache_dtype     "float32" or "float16" keys and values; None means float32 when precise, else float16.
    progress        called with (bytes done, bytes in all).

    Raises ModelNotFoundError, FormatError, ConfigError, UnsupportedModelError, WeightsError or TokenizerError.
    """
    _check_options(context_length, cache_dtype)
    from boostr.chat import resolve_template
    from boostr.formats import open_checkpoint
    from boostr.hub import resolve_model
    from boostr.models import load_network

    found = resolve_model(path)
    checkpoint = open_checkpoint(found)
    try:
        precision = activations or ("precise" if precise else "fast")
        network, report = load_network(checkpoint, dtype=dtype, precision=precision, progress=progress)
        directory = _directory(checkpoint)
        tokenizer = _tokenizer(checkpoint, directory)
        generation_config = _generation_config(directory)
        template = resolve_template(
            chat_template,
            metadata=checkpoint.metadata,
            directory=directory,
            model_type=report.architecture,
            tokenizer=tokenizer,
        )
    except BaseException:
        checkpoint.close()
        raise
    return LanguageModel(
        network,
        name=found.stem if found.is_file() else found.name,
        path=found,
        report=report,
        tokenizer=tokenizer,
        chat_template=template,
        eos_token_ids=_eos_token_ids(tokenizer, checkpoint.config or {}, generation_config),
        generation_config=generation_config,
        context_length=_context_length(context_length, network.context_length),
        cache_dtype=cache_dtype or ("float32" if precise else "float16"),
        checkpoint=checkpoint,
    )


def _directory(checkpoint: Checkpoint) -> Path | None:
    # A lone .gguf file carries everything itself; what lies beside it may belong to another model.
    whole = checkpoint.format == "safetensors" or checkpoint.path.is_dir()
    return checkpoint.directory if whole else None


def _tokenizer(checkpoint: Checkpoint, directory: Path | None) -> Tokenizer | None:
    """The directory's tokenizer wins for SafeTensors, the embedded one for GGUF; a bare weights file may have none."""
    from boostr import tokenizers

    if checkpoint.format == "gguf":
        kind = checkpoint.metadata.get("tokenizer.ggml.model", "none")  # "none" is also how a file says it has none
        return tokenizers.from_gguf(checkpoint.metadata) if kind != "none" else None
    if directory is None or not any((directory / name).exists() for name in ("tokenizer.json", "tokenizer.model")):
        return None
    return tokenizers.from_directory(directory)


def _generation_config(directory: Path | None) -> dict[str, Any]:
    from boostr.formats.hf_config import read_json_object

    file = None if directory is None else directory / "generation_config.json"
    return read_json_object(file) if file is not None and file.exists() else {}


def _eos_token_ids(
    tokenizer: Tokenizer | None, config: Mapping[str, Any], generation_config: Mapping[str, Any]
) -> frozenset[int]:
    """End tokens from every place that names some: tokenizer, config.json (also its text part), generation_config."""
    ids = set(tokenizer.eos_token_ids) if tokenizer is not None else set()
    for source in (config, config.get("text_config") or {}, generation_config):
        value = source.get("eos_token_id")
        ids.update(int(v) for v in (value if isinstance(value, list) else [value]) if isinstance(v, int))
    return frozenset(ids)


def _check_options(context_length: int | None, cache_dtype: str | None) -> None:
    """What is wrong is said before anything is loaded."""
    if cache_dtype not in (None, "float32", "float16"):
        raise ParameterError(f"cache_dtype is {cache_dtype!r}: it must be float32 or float16", "cache_dtype")
    if not (context_length is None or (isinstance(context_length, int) and context_length >= 1)):
        raise ConfigError(f"context_length is {context_length!r}: it must be a whole number, at least 1")


def _context_length(asked: int | None, trained: int) -> int:
    return trained if asked is None else min(asked, trained)
