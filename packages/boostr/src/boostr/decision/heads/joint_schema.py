"""Clef's head: all questions of a record decided together, each from its own options' evidence and from the others.

float32 throughout; weights come from BF16 files. Steps and names follow the release's joint_schema_model.py, with a
record of T tokens, Q questions, N options in all, hidden width H and head width W.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from boostr.decision.family import Hidden
from boostr.errors import ConfigError, WeightsError
from boostr.formats.json_file import read_json_object
from boostr.formats.safetensors import SafeTensorsFile
from boostr.quant import take_rows
from numr import Tensor
from numr import nn as F

__all__ = ["CONFIG", "WEIGHTS", "JointSchemaConfig", "JointSchemaHead", "Question"]

CONFIG = "joint_head_config.json"
WEIGHTS = "joint_head.safetensors"

_EPS = 1e-5  # of every layer norm
_LARGEST_SCALE = math.log(100.0)
_BLOCK = 1 << 24  # attention scores held at a time
_MOST_SIZE, _MOST_LAYERS = 1 << 20, 256  # bounds before a file's word is counted out in names
_LISTED = 20  # tensors named of each fault

Weights = dict[str, Hidden]
Shapes = dict[str, tuple[int, ...]]


class Question(NamedTuple):
    """`kind` 0 noul, 1 choice, 2 score; token ranges of its instruction and of its options, ends not included."""

    kind: int
    span: tuple[int, int]
    options: Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class JointSchemaConfig:
    hidden_size: int
    width: int
    routing_layers: int
    layers: int
    heads: int
    feedforward: int

    @classmethod
    def read(cls, directory: Path) -> JointSchemaConfig:
        """Raises ConfigError naming the key that is missing, unknown or impossible."""
        path = directory / CONFIG
        values = read_json_object(path)
        values.pop("dropout", None)  # nothing is dropped when answers are read
        names = [each.name for each in fields(cls)]
        if set(values) != set(names):
            odd = sorted(set(values) ^ set(names))
            raise ConfigError(f"{path}: {', '.join(odd)} missing or unknown; its keys are {', '.join(names)}")
        for name, value in values.items():
            most = _MOST_LAYERS if name.endswith("layers") else _MOST_SIZE
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
                raise ConfigError(f"{path}: {name} is {value!r}; it must be a whole number from 1 to {most}")
        config = cls(**values)
        if config.width % config.heads:
            raise ConfigError(f"{path}: width {config.width} does not divide into {config.heads} heads")
        return config

    def shapes(self) -> Shapes:
        """Every tensor of the head with its shape."""
        h, w, f = self.hidden_size, self.width, self.feedforward
        norm: Shapes = {"weight": (w,), "bias": (w,)}
        attention: Shapes = {
            "in_proj_weight": (3 * w, w),
            "in_proj_bias": (3 * w,),
            "out_proj.weight": (w, w),
            "out_proj.bias": (w,),
        }
        parts: dict[str, Shapes] = {
            "hidden_norm": {"weight": (h,), "bias": (h,)},
            "type_embedding": {"weight": (3, w)},
            "option_summary_norm": norm,
            "field_norm": norm,
            "option_norm": norm,
            "residual_scorer.0": {"weight": (w, 4 * w), "bias": (w,)},
            "residual_scorer.3": {"weight": (1, w), "bias": (1,)},
        }
        for name in ("memory", "question", "option_question", "global", "option_context", "option_lexical"):
            parts[f"{name}_projection"] = {"weight": (w, h)}
        for i in range(self.routing_layers):
            stem = f"evidence_layers.{i}."
            parts |= {stem + name: norm for name in ("query_norm", "memory_norm", "feedforward_norm")}
            parts[stem + "attention"] = attention
            parts |= _pair(stem + "feedforward.0", stem + "feedforward.3", w, f)
        for i in range(self.layers):
            stem = f"layers.{i}."
            parts |= {stem + name: norm for name in ("norm1", "norm2", "norm3")}
            parts |= {stem + name: attention for name in ("self_attn", "multihead_attn")}
            parts |= _pair(stem + "linear1", stem + "linear2", w, f)
        named = {f"{part}.{name}": shape for part, each in parts.items() for name, shape in each.items()}
        return named | dict.fromkeys(("prior_logit_scale", "joint_logit_scale", "residual_gate"), ())


def _pair(first: str, second: str, width: int, inner: int) -> dict[str, Shapes]:
    return {
        first: {"weight": (inner, width), "bias": (inner,)},
        second: {"weight": (width, inner), "bias": (width,)},
    }


class JointSchemaHead:
    """`output` is the LM head's (vocab, H): rows of options' tokens are read of it, as they lie there."""

    def __init__(self, config: JointSchemaConfig, weights: Weights, output: Any) -> None:
        self.config = config
        self._w = weights
        self._output = output

    @classmethod
    def load(cls, directory: Path, output: Any) -> JointSchemaHead:
        """Read both files. Raises ConfigError, or WeightsError that lists tensors missing, unknown or misshapen."""
        config = JointSchemaConfig.read(directory)
        file = SafeTensorsFile(directory / WEIGHTS)
        try:
            return cls(config, _read(file, config.shapes()), output)
        finally:
            file.close()

    def __call__(self, hidden: Hidden, ids: Sequence[int], questions: Sequence[Question]) -> list[Hidden]:
        """hidden (T, H) behind the backbone's final norm -> per question its options' logits, float32."""
        states = self._norm("hidden_norm", hidden)
        memory = states @ self._w["memory_projection.weight"].T
        last = states[-1]
        asked: Hidden = np.stack([states[slice(*each.span)].mean(axis=0) for each in questions])  # (Q, H)
        counts = [len(each.options) for each in questions]
        spans = [span for each in questions for span in each.options]
        context: Hidden = np.stack([states[slice(*span)].mean(axis=0) for span in spans])  # (N, H)
        lexical: Hidden = np.stack([self._output_rows(ids[slice(*span)]).mean(axis=0) for span in spans])
        owner = np.repeat(np.arange(len(questions)), counts)
        options: Hidden = (
            context @ self._w["option_context_projection.weight"].T
            + lexical @ self._w["option_lexical_projection.weight"].T
            + (asked @ self._w["option_question_projection.weight"].T)[owner]
        )
        for i in range(self.config.routing_layers):
            options = self._evidence_layer(f"evidence_layers.{i}.", options, memory)
        decided = self._questions(asked, options, last, owner, [each.kind for each in questions])
        for i in range(self.config.layers):
            decided = self._layer(f"layers.{i}.", decided, memory)
        prior = self._scale("prior_logit_scale") * _cosine(lexical, (asked + last)[owner], 1e-12)
        joint = self._joint(self._norm("field_norm", decided)[owner], self._norm("option_norm", options))
        gate = 1 / (1 + np.exp(-self._w["residual_gate"]))
        logits = (prior + gate * joint).astype(np.float32)
        return list(np.split(logits, np.cumsum(counts)[:-1]))

    def _evidence_layer(self, stem: str, options: Hidden, memory: Hidden) -> Hidden:
        """Each option looks through the record, alone."""
        found = self._norm(stem + "memory_norm", memory)
        options = options + self._attention(stem + "attention.", self._norm(stem + "query_norm", options), found)
        inner = gelu_rows(self._linear(stem + "feedforward.0", self._norm(stem + "feedforward_norm", options)))
        return options + self._linear(stem + "feedforward.3", inner)

    def _questions(self, asked: Hidden, options: Hidden, last: Hidden, owner: Any, kinds: Sequence[int]) -> Hidden:
        """Questions as the decoder begins with them: their own text, a summary of their options, the record's end."""
        base = asked @ self._w["question_projection.weight"].T
        scores = np.einsum("nw,nw->n", options, base[owner]) / np.float32(math.sqrt(self.config.width))
        summary = np.empty_like(base)
        for q in range(len(base)):
            mine = owner == q
            weights = _softmax(scores[mine])
            summary[q] = weights @ options[mine]
        types = self._w["type_embedding.weight"][list(kinds)]
        ending = last @ self._w["global_projection.weight"].T
        return np.asarray(base + self._norm("option_summary_norm", summary) + ending + types)

    def _layer(self, stem: str, x: Hidden, memory: Hidden) -> Hidden:
        """A decoder layer: questions see each other, both ways, and the record."""
        n = self._norm(stem + "norm1", x)
        x = x + self._attention(stem + "self_attn.", n, n)
        x = x + self._attention(stem + "multihead_attn.", self._norm(stem + "norm2", x), memory)
        inner = gelu_rows(self._linear(stem + "linear1", self._norm(stem + "norm3", x)))
        return x + self._linear(stem + "linear2", inner)

    def _joint(self, decided: Hidden, options: Hidden) -> Hidden:
        both = np.concatenate([decided, options, decided * options, np.abs(decided - options)], axis=1)
        residual = self._linear("residual_scorer.3", gelu_rows(self._linear("residual_scorer.0", both)))[:, 0]
        return np.asarray(self._scale("joint_logit_scale") * _cosine(decided, options, 1e-8) + residual)

    def _attention(self, stem: str, queries: Hidden, memory: Hidden) -> Hidden:
        """Multi-head attention without a mask, a block of queries at a time."""
        width, heads = self.config.width, self.config.heads
        size = width // heads
        weight, bias = self._w[stem + "in_proj_weight"], self._w[stem + "in_proj_bias"]
        q = (queries @ weight[:width].T + bias[:width]) / np.float32(math.sqrt(size))
        k = memory @ weight[width : 2 * width].T + bias[width : 2 * width]
        v = memory @ weight[2 * width :].T + bias[2 * width :]
        out = np.empty_like(q)
        step = max(1, _BLOCK // len(memory))
        for start in range(0, len(q), step):
            rows = slice(start, start + step)
            for head in range(heads):
                columns = slice(head * size, (head + 1) * size)
                out[rows, columns] = _softmax(q[rows, columns] @ k[:, columns].T) @ v[:, columns]
        return np.asarray(out @ self._w[stem + "out_proj.weight"].T + self._w[stem + "out_proj.bias"])

    def _norm(self, name: str, x: Hidden) -> Hidden:
        weight, bias = Tensor(self._w[name + ".weight"]), Tensor(self._w[name + ".bias"])
        return np.asarray(F.layer_norm(Tensor(np.ascontiguousarray(x)), weight, bias, _EPS))

    def _linear(self, name: str, x: Hidden) -> Hidden:
        return np.asarray(x @ self._w[name + ".weight"].T + self._w[name + ".bias"])

    def _scale(self, name: str) -> np.float32:
        return np.float32(math.exp(min(float(self._w[name]), _LARGEST_SCALE)))

    def _output_rows(self, ids: Sequence[int]) -> Hidden:
        return np.asarray(take_rows(self._output, list(ids)))


def gelu_rows(x: Hidden) -> Hidden:
    """The exact GELU, by the error function; its tanh form is off by 1e-3."""
    return np.asarray(F.gelu(Tensor(np.ascontiguousarray(x)), approximate=False))


def _read(file: SafeTensorsFile, shapes: Shapes) -> Weights:
    names = set(file.names())
    missing, unknown = sorted(set(shapes) - names), sorted(names - set(shapes))
    wrong = [name for name in shapes if name in names and tuple(file.info(name).shape) != shapes[name]]
    faults = {"missing": missing, "unknown": unknown, "of another shape": wrong}
    if any(faults.values()):
        told = "; ".join(f"{what}: {_listed(some)}" for what, some in faults.items() if some)
        raise WeightsError(f"{file.path} does not hold the head that {CONFIG} describes: {told}")
    return {name: np.array(np.asarray(file.tensor(name)), np.float32) for name in shapes}


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def _cosine(a: Hidden, b: Hidden, least: float) -> Hidden:
    def unit(x: Hidden) -> Hidden:
        return np.asarray(x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), np.float32(least)))

    return np.asarray((unit(a) * unit(b)).sum(axis=-1))


def _softmax(x: Hidden) -> Hidden:
    return np.asarray(F.softmax(Tensor(np.ascontiguousarray(x))))
