"""Sizes, parameter counts and types of a checkpoint, from its headers alone: what `blazr info` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from boostr.formats.checkpoint import Checkpoint
from boostr.formats.tensor_info import TensorInfo

__all__ = ["CheckpointFacts", "DTypeFacts", "checkpoint_facts"]

# general.file_type: the mix of tensor types that the quantizer was asked for.
_FILE_TYPES = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    7: "Q8_0",
    8: "Q5_0",
    9: "Q5_1",
    10: "Q2_K",
    11: "Q3_K_S",
    12: "Q3_K_M",
    13: "Q3_K_L",
    14: "Q4_K_S",
    15: "Q4_K_M",
    16: "Q5_K_S",
    17: "Q5_K_M",
    18: "Q6_K",
    19: "IQ2_XXS",
    20: "IQ2_XS",
    21: "Q2_K_S",
    22: "IQ3_XS",
    23: "IQ3_XXS",
    24: "IQ1_S",
    25: "IQ4_NL",
    26: "IQ3_S",
    27: "IQ3_M",
    28: "IQ2_S",
    29: "IQ2_M",
    30: "IQ4_XS",
    31: "IQ1_M",
    32: "BF16",
    36: "TQ1_0",
    37: "TQ2_0",
    38: "MXFP4_MOE",
}


@dataclass(slots=True)
class DTypeFacts:
    """All tensors of one dtype."""

    tensors: int = 0
    parameters: int = 0
    nbytes: int = 0


@dataclass(frozen=True, slots=True)
class CheckpointFacts:
    """`file_bytes` counts whole files, `nbytes` of the dtypes only tensors. `dtypes` is sorted by bytes, most first.

    quantization   the GGUF file type ("Q4_K_M"), "AWQ" or "GPTQ" with its bits, else the dtype with most bytes
    """

    format: str
    files: list[Path]
    file_bytes: int
    tensors: int
    parameters: int
    quantization: str
    dtypes: dict[str, DTypeFacts] = field(default_factory=dict)

    @property
    def bits_per_weight(self) -> float:
        """Stored bits per parameter over all tensors; 0 for a checkpoint without any."""
        stored = sum(dtype.nbytes for dtype in self.dtypes.values())
        return stored * 8 / self.parameters if self.parameters else 0.0


def checkpoint_facts(checkpoint: Checkpoint) -> CheckpointFacts:
    """Counts over the headers; reads no weights."""
    bits = _packed_bits(checkpoint.config or {})
    dtypes: dict[str, DTypeFacts] = {}
    for info in map(checkpoint.info, checkpoint.names()):
        facts = dtypes.setdefault(info.dtype, DTypeFacts())
        facts.tensors += 1
        facts.parameters += _parameters(info, bits)
        facts.nbytes += info.nbytes
    dtypes = dict(sorted(dtypes.items(), key=lambda item: -item[1].nbytes))
    return CheckpointFacts(
        format=checkpoint.format,
        files=checkpoint.files,
        file_bytes=sum(path.stat().st_size for path in checkpoint.files),
        tensors=sum(facts.tensors for facts in dtypes.values()),
        parameters=sum(facts.parameters for facts in dtypes.values()),
        quantization=_quantization(checkpoint, next(iter(dtypes), "none")),
        dtypes=dtypes,
    )


def _packed_bits(config: Mapping[str, object]) -> int:
    quantization = config.get("quantization_config")
    bits = quantization.get("bits", 4) if isinstance(quantization, Mapping) else 4
    return bits if isinstance(bits, int) and bits in (2, 3, 4, 8) else 4


def _parameters(info: TensorInfo, bits: int) -> int:
    # AWQ and GPTQ pack weights into int32 words; zero points, scales and group indices are no parameters.
    if info.name.endswith(".qweight"):
        return info.elements * 32 // bits
    return 0 if info.name.endswith((".qzeros", ".scales", ".g_idx")) else info.elements


def _quantization(checkpoint: Checkpoint, dominant: str) -> str:
    file_type = checkpoint.metadata.get("general.file_type")
    if isinstance(file_type, int) and file_type in _FILE_TYPES:
        return _FILE_TYPES[file_type]
    declared = (checkpoint.config or {}).get("quantization_config")
    method = declared.get("quant_method") if isinstance(declared, Mapping) else None
    if method in ("awq", "gptq"):
        return f"{method.upper()} {_packed_bits(checkpoint.config or {})}-bit"
    return dominant
