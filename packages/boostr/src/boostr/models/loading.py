"""From a checkpoint to a network: every tensor is placed or accounted for before any is read.

Knows no architecture: names come from names.py, sizes and shapes from the network's own classes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from boostr.errors import ConfigError, ParameterError, UnsupportedModelError, WeightsError
from boostr.formats import Checkpoint
from boostr.formats.hf_config import normalise_config
from boostr.models.detect import detect_architecture
from boostr.models.names import GGUF_NAMES, HF_NAMES
from boostr.models.network import Network
from boostr.models.placement import Placed, Placement
from boostr.models.registry import GGUF_ARCHITECTURES, MODEL_TYPES, ConfigReader, architecture
from boostr.models.report import LoadReport, Uploaded
from boostr.models.weights import Weights
from boostr.quant import PRECISIONS, Activations, Precision, QuantTensor, Weight
from numr import Tensor

__all__ = ["load_network"]

Progress = Callable[[int, int], None]

# What Source.edit names; computed in float64, so that the result is rounded once.
EDITS: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "one_plus": lambda w: 1 + w,
    "minus_exp": lambda w: -np.exp(w),
}

_DTYPES: dict[str, Any] = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


def load_network(
    checkpoint: Checkpoint, *, dtype: str | None = None, precision: Precision = "fast", progress: Progress | None = None
) -> tuple[Network, LoadReport]:
    """Build the checkpoint's network.

    dtype      None keeps every weight in its stored type; "float32", "float16" or "bfloat16" convert dense matrices
    precision  "precise" multiplies float32 activations, "fast" may round them where they meet quantized weights, and
               "int8", "int16", "float32" say to what
    progress   called with (bytes done, bytes in all)

    Computation is float32 in any case. Raises UnsupportedModelError for an unknown architecture, ConfigError for sizes
    that cannot be, and WeightsError for tensors that are missing, left over or of the wrong shape.
    """
    if dtype is not None and dtype not in _DTYPES:
        raise ParameterError(f"dtype is {dtype!r}: use one of {', '.join(_DTYPES)}", "dtype")
    if precision not in PRECISIONS:
        words = ", ".join(get_args(Activations))
        raise ParameterError(f"activations is {precision!r}: use one of {words}", "activations")
    gguf = checkpoint.format == "gguf"
    with _naming(checkpoint.path):
        hf_config = None if checkpoint.config is None else normalise_config(checkpoint.config)
        kind = detect_architecture(checkpoint, hf_config)
        network_class, config_class = architecture(kind, GGUF_ARCHITECTURES if gguf else MODEL_TYPES)
        placement = Placement(checkpoint, (GGUF_NAMES if gguf else HF_NAMES)[kind])
        config = _config(config_class, kind, checkpoint, hf_config, placement)
    shapes = dict(network_class.shapes(config))
    if placement.bare and "lm_head.weight" not in placement.placed:
        shapes.pop("lm_head.weight", None)  # of use to whoever reads hidden states; logits are refused
    wanted = placement.settle(shapes, network_class.unused(config))
    report = LoadReport(
        architecture=kind,
        format=checkpoint.format,
        path=checkpoint.path,
        model_dtype=None if hf_config is None else hf_config.get("dtype"),
        precision=precision,
        skipped=placement.skipped,
        assumptions=config.assumptions,
    )
    tensors = {}
    for path, part, tensor in _read(checkpoint, wanted, dtype, progress, report):
        tensor = tensor if part is None else _rows(tensor, network_class.part_rows(config, part))
        tensors[path] = _shaped(tensor, shapes[path])
        report.parameters += int(np.prod(tensors[path].shape))
    return network_class(config, Weights(tensors, precision)), report


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Has errors about a configuration say whose it is: config classes are given values and know no file."""
    try:
        yield
    except (ConfigError, UnsupportedModelError) as error:
        if str(path) in str(error):
            raise
        raise type(error)(f"{path}: {error}") from error


def _config(
    reader: ConfigReader, kind: str, checkpoint: Checkpoint, hf_config: Mapping[str, Any] | None, placement: Placement
) -> Any:
    if checkpoint.format == "gguf":
        return reader.from_gguf(checkpoint.metadata, placement.found)
    if hf_config is not None:
        return reader.from_hf({**hf_config, "model_type": kind}, placement.found)
    return reader.from_tensors(kind, placement.found)


def _read(
    checkpoint: Checkpoint,
    wanted: Mapping[str, Placed],
    dtype: str | None,
    progress: Progress | None,
    report: LoadReport,
) -> Iterator[tuple[str, str | None, Weight]]:
    """(attribute path, part of a fused tensor, the whole tensor) for every parameter; reports each tensor once."""
    sizes = {place.name: checkpoint.info(place.name).nbytes for place in wanted.values()}
    total, done = sum(sizes.values()), 0
    for path, place in wanted.items():
        tensor = _converted(checkpoint.tensor(place.name), f"{checkpoint.path}: tensor '{place.name}'", dtype)
        if place.source.edit is not None:
            tensor = _edited(tensor, place.source.edit)
        yield path, place.source.part, tensor
        if place.name in sizes:
            held = tensor.nbytes if isinstance(tensor, QuantTensor) else tensor.array.nbytes
            report.uploaded.append(Uploaded(place.name, checkpoint.info(place.name).dtype, held))
            done += sizes.pop(place.name)
            if progress is not None:
                progress(done, total)


def _converted(stored: Tensor | QuantTensor | NDArray[Any], what: str, dtype: str | None) -> Weight:
    """A weight as networks take it: vectors float32, dense matrices in `dtype` or as stored, blocks as they are."""
    if isinstance(stored, QuantTensor):
        return Tensor(stored.dequantize()) if len(stored.shape) == 1 else stored
    array = stored.array if isinstance(stored, Tensor) else stored
    if array.dtype.kind in "iub":
        raise WeightsError(f"{what} holds {array.dtype}, which is no weight")
    if array.ndim == 1 or array.dtype == np.float64:
        return Tensor(np.ascontiguousarray(array, dtype=np.float32))
    with np.errstate(over="ignore"):  # beyond float16 becomes infinity
        return Tensor(np.ascontiguousarray(array, dtype=_DTYPES[dtype] if dtype else array.dtype))


def _edited(tensor: Weight, edit: str) -> Tensor:
    array = tensor.dequantize() if isinstance(tensor, QuantTensor) else tensor.array
    with np.errstate(over="ignore"):  # beyond float32 becomes infinity, as in the products
        return Tensor(EDITS[edit](array.astype(np.float64)).astype(np.float32))


def _shaped(tensor: Weight, shape: tuple[int, ...]) -> Weight:
    """`tensor` in the network's own shape, which differs from the file's in axes of one at most."""
    if tensor.shape == shape:
        return tensor
    if isinstance(tensor, QuantTensor):
        return Tensor(tensor.dequantize().reshape(shape))
    return Tensor(tensor.array.reshape(shape))


def _rows(tensor: Weight, rows: NDArray[Any]) -> Weight:
    return tensor.take(rows) if isinstance(tensor, QuantTensor) else Tensor(np.ascontiguousarray(tensor.array[rows]))
