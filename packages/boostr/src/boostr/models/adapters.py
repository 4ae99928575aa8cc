"""Which linear maps of a network a PEFT adapter changes, in the order that the network has its rows and columns in.

Adapters name modules as published checkpoints do; a GGUF file may name and order the same weights in another way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostr.errors import AdapterMismatchError
from boostr.models.names import GGUF_NAMES, HF_NAMES, NameTable
from boostr.models.network import Network
from boostr.models.placement import filled, pattern_of
from boostr.models.registry import GGUF_ARCHITECTURES, MODEL_TYPES, Architecture, Order, architecture
from boostr.models.report import LoadReport
from boostr.nn import Linear, LowRank, SpanAdapter
from boostr.peft import BaseRows, LoraModule, PeftAdapter
from boostr.peft.shown import shown
from boostr.quant import QuantTensor, take_rows
from numr import Tensor

__all__ = ["resolve_adapter"]

# GGUF architectures whose published checkpoints have another model_type.
_PUBLISHED = {"qwen35": "qwen3_5", "qwen35moe": "qwen3_5_moe", "qwen3next": "qwen3_next"}
# The text model stands under either of these in models of text and images, or bare where it was wrapped alone.
_PREFIXES = ("model.language_model.", "language_model.model.", "language_model.", "model.")
_SHOWN = 3
# How far base weights may lie from those an adapter came with, relative to them: rounding to 8 bits of mantissa is
# 0.2 %; the coarsest quantization is about a third.
_ROUNDED, _QUANTIZED = 0.02, 0.5


def resolve_adapter(adapter: PeftAdapter, network: Network, report: LoadReport) -> SpanAdapter:
    """The adapter as spans of a batch of this network carry it. Matrices are shared, or reordered into copies.

    Raises AdapterMismatchError where a module is none of the network's, or of another shape.
    """
    base = _Base(network, report)
    unknown = [name for name in adapter.modules if not base.targets(name)]
    if unknown:
        raise AdapterMismatchError(_mismatch(adapter, unknown, base))
    updates: dict[Linear, LowRank] = {}
    for name, module in adapter.modules.items():
        for linear, update in _updates(adapter, name, module, base):
            if linear in updates:
                raise AdapterMismatchError(
                    f"{adapter.path}: {shown(name)} is a second update of a module it already has"
                )
            updates[linear] = update
    for name, kept in adapter.base_rows.items():
        _check_base(adapter, name, kept, base)
    return SpanAdapter(adapter.name, updates)


class _Base:
    """The network as adapters see it: linear maps by published module name."""

    def __init__(self, network: Network, report: LoadReport) -> None:
        self.network = network
        self.report = report
        kind, gguf = report.architecture, report.format == "gguf"
        self.kind: Architecture = architecture(kind, GGUF_ARCHITECTURES if gguf else MODEL_TYPES)[0]
        self.published: NameTable = HF_NAMES[_PUBLISHED.get(kind, kind) if gguf else kind]
        self._own: NameTable = GGUF_NAMES[kind] if gguf else {}
        self._paths: dict[str, list[str]] = {}
        for path, source in self.published.items():
            self._paths.setdefault(_bare(source.name), []).append(path)

    def targets(self, name: str) -> list[tuple[Linear, str]]:
        """(linear map, path pattern) of a module; several where the published checkpoint has them in one matrix."""
        pattern, numbers = pattern_of(_bare(name))
        found = []
        for path in self._paths.get(pattern, []):
            linear = _walk(self.network, filled(path, numbers))
            if not isinstance(linear, Linear):
                return []
            found.append((linear, path))
        return found

    def order(self, path: str, linear: Linear) -> Order:
        """Rows and columns of a linear map in terms of the published ones."""
        source = self._own.get(path)
        if source is not None and source.paired:
            size = self.network.config.head_dim
            rows = np.arange(linear.out_features).reshape(-1, 2, size // 2).swapaxes(1, 2).reshape(-1)
            return rows, None
        return self.kind.published_order(self.network.config, path)

    def examples(self) -> Iterator[str]:
        """Names that an adapter could have."""
        for n in range(2):  # layers of two kinds may alternate
            for source in self.published.values():
                name = filled(source.name, [n, 0])
                if f".{n}." in name and self.targets(name):
                    yield name


def _bare(name: str) -> str:
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


def _walk(network: Network, path: str) -> Any:
    """What stands at an attribute path, or None."""
    found: Any = network
    for part in path.split("."):
        if part.isdigit():
            found = found[int(part)] if hasattr(found, "__getitem__") and int(part) < len(found) else None
        else:
            found = getattr(found, part, None)
    return found


def _updates(adapter: PeftAdapter, name: str, module: LoraModule, base: _Base) -> Iterator[tuple[Linear, LowRank]]:
    targets = base.targets(name)
    inputs, outputs = targets[0][0].in_features, sum(linear.out_features for linear, _ in targets)
    for side, have, wanted in (("A", module.a.shape[1], inputs), ("B", module.b.shape[0], outputs)):
        if have != wanted:
            raise AdapterMismatchError(
                f"{adapter.path}: {shown(f'{name}.lora_{side}.weight')} has {have} "
                f"{'in' if side == 'A' else 'out'}put features, but that module of {base.report.path} has {wanted}; "
                f"{_trained_on(adapter)}"
            )
    for linear, path in targets:
        part = base.published[path].part
        rows, columns = base.order(path, linear)
        b = module.b if part is None else _taken(module.b, base.kind.part_rows(base.network.config, part), axis=0)
        yield linear, LowRank(_taken(module.a, columns, axis=1), _taken(b, rows, axis=0), module.scale)


def _check_base(adapter: PeftAdapter, name: str, kept: BaseRows, base: _Base) -> None:
    """Compare base weights that came with the adapter: another vocabulary or another base would give other answers."""
    targets = base.targets(name)
    weight = targets[0][0].weight
    if len(targets) > 1 or base.order(targets[0][1], targets[0][0]) != (None, None):
        raise AdapterMismatchError(
            f"{adapter.path}: base weights of {shown(name)} cannot be compared; save the adapter without"
        )
    most = _QUANTIZED if isinstance(weight, QuantTensor) else _ROUNDED
    if tuple(weight.shape) == kept.shape:
        found = np.asarray(take_rows(weight, kept.rows))
        if np.linalg.norm(found - kept.values) <= most * np.linalg.norm(kept.values):
            return
    raise AdapterMismatchError(
        f"{adapter.path}: {shown(f'{name}.base_layer.weight')} {kept.shape} holds other weights than that module of "
        f"{base.report.path} {tuple(weight.shape)}; {_trained_on(adapter)}"
    )


def _taken(matrix: Tensor, order: NDArray[Any] | None, axis: int) -> Tensor:
    return matrix if order is None else Tensor(np.take(matrix.array, order, axis))


def _mismatch(adapter: PeftAdapter, unknown: list[str], base: _Base) -> str:
    examples = [name for _, name in zip(range(_SHOWN), base.examples(), strict=False)]
    theirs, ours = (", ".join(map(shown, names)) for names in (unknown[:_SHOWN], examples))
    return (
        f"{adapter.path}: {adapter.module_count - len(unknown)} of its {adapter.module_count} modules are linear maps "
        f"of {base.report.path} ({base.report.architecture}); not among them: {theirs}; the base has {ours}; "
        f"{_trained_on(adapter)}"
    )


def _trained_on(adapter: PeftAdapter) -> str:
    if adapter.base_model_name is None:
        return "use the base that the adapter was trained on"
    return f"the adapter was trained on {shown(adapter.base_model_name)}"
