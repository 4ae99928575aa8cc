"""The table of docs/performance.md: every model shape and tensor type beside llama.cpp, and how cost grows.

    python benchmarks/suite.py [table] [types] [context] [sequences]     all four parts, or those named

Makes its random-weight models itself (random_models.py), runs both engines in turn, prints each row as it comes, and
writes figures.json, tables.md and the plots into --out.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from compare import packaged_model
from pairs import PEER, has_peer, interleaved
from plots import plot
from random_models import random_model

SMOLLM2 = "SmolLM2-135M Q4_1 (real)"
MODELS = {
    "Llama-3.2-1B shape, Q4_K_M": ("llama-1b", "Q4_K_M"),
    "same, Q8_0": ("llama-1b", "Q8_0"),
    "same, Q6_K": ("llama-1b", "Q6_K"),
    "same, Q4_0": ("llama-1b", "Q4_0"),
    "same, F16": ("llama-1b", "F16"),
    "same, BF16": ("llama-1b", "BF16"),
    "Qwen2.5-0.5B shape, Q4_K_M": ("qwen2-0.5b", "Q4_K_M"),
}
OTHER_TYPES = (
    *("Q4_1", "Q5_0", "Q5_1", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S"),
    *("IQ3_XXS", "IQ3_S", "IQ4_NL", "IQ4_XS", "TQ1_0", "TQ2_0", "MXFP4", "F32"),
)
DEPTHS = (512, 1024, 2048, 4096, 8192, 16_384)
TOGETHER = (1, 2, 4, 8, 16, 32)

Rows = dict[str, dict[str, Any]]


class Suite:
    """One run: its options, and the parts that measure something."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.peer = options.peer_python if has_peer(options.peer_python) and not options.without_peer else None

    def run(self, model: Path | str, pairs: int, **sizes: int) -> Rows:
        arguments = [f"--{name}={value}" for name, value in {"threads": self.options.threads, **sizes}.items()]
        return interleaved(str(model), pairs, self.peer, *arguments)

    def wants(self, title: str) -> bool:
        return not self.options.only or any(text in title for text in self.options.only)

    def table(self) -> Iterator[tuple[str, Rows]]:
        """Decode, prefill of 512 and 8 sequences together, per model."""
        for title, (shape, mix) in MODELS.items():
            if self.wants(title):
                model = random_model(shape, mix)
                yield title, self.run(model, self.options.pairs, prompt=512, decode=24, sequences=8)
        if self.wants(SMOLLM2):
            yield SMOLLM2, self.run(packaged_model(), self.options.pairs, prompt=512, decode=64, sequences=8)

    def types(self) -> Iterator[tuple[str, Rows]]:
        """Decode and prefill of every other type, on four layers."""
        pairs = min(3, self.options.pairs)
        for kind in filter(self.wants, OTHER_TYPES):
            yield kind, self.run(random_model("llama-slice", kind), pairs, prompt=256, decode=32)

    def context(self) -> Iterator[tuple[str, Rows]]:
        """Prefill of, and decode after, so many tokens: four layers of the 1B shape in Q8_0."""
        for depth in DEPTHS:
            yield str(depth), self.run(random_model("llama-slice", "Q8_0"), 3, prompt=depth, decode=16, depth=depth)

    def sequences(self) -> Iterator[tuple[str, Rows]]:
        """So many sequences of SmolLM2 decoding together."""
        for count in TOGETHER:
            rows = self.run(packaged_model(), 3, prompt=0, decode=32, sequences=count)
            yield str(count), rows


PARTS: dict[str, Callable[[Suite], Iterator[tuple[str, Rows]]]] = {
    "table": Suite.table,
    "types": Suite.types,
    "context": Suite.context,
    "sequences": Suite.sequences,
}


def machine() -> dict[str, Any]:
    """What the figures depend on."""
    import numr

    model = next((line for line in _lines("/proc/cpuinfo") if line.startswith("model name")), "")
    versions = {name: importlib.metadata.version(name) for name in ("numr", "boostr", "numpy")}
    return {
        "processor": model.partition(": ")[2].strip() or platform.processor(),
        "cores": os.cpu_count(),
        "level": numr.native.level(),
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "versions": versions,
    }


def _lines(path: str) -> list[str]:
    file = Path(path)
    return file.read_text().splitlines() if file.exists() else []


def markdown(rows: dict[str, Rows]) -> str:
    """One line per model: ours, the peer's and the ratio with its range, for each speed."""
    figures = [name for name in next(iter(rows.values())) if name.endswith("tokens_per_s")]
    heads = [name.removesuffix("_tokens_per_s").replace("_", " ") for name in figures]
    lines = ["| | " + " | ".join(heads) + " |", "|---|" + "---|" * len(heads)]
    lines += [
        f"| {title} | " + " | ".join(_cell(row[name]) for name in figures if name in row) + " |"
        for title, row in rows.items()
    ]
    return "\n".join(lines)


def _cell(row: dict[str, Any]) -> str:
    if "ratio" not in row:
        return _digits(row["ours"])
    low, high = row["ratio_range"]
    return f"{_digits(row['ours'])} / {_digits(row['peer'])} = **{row['ratio']:.2f}** ({low:.2f}–{high:.2f})"


def _digits(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="default: all")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument(
        "--only", action="append", metavar="TEXT", help="rows of table and types with TEXT in their name"
    )
    parser.add_argument("--without-peer", action="store_true")
    parser.add_argument("--peer-python", default=sys.executable, help="an interpreter that has llama-cpp-python")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    suite = Suite(options)
    file = options.out / "figures.json"
    results: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    results["machine"] = {**machine(), "threads": options.threads, "peer": PEER if suite.peer else None}
    for part in options.parts or PARTS:
        rows: dict[str, Rows] = results.get(part, {}) if options.only else {}
        print(f"\n{part}: {(PARTS[part].__doc__ or '').splitlines()[0]}  ours / peer = ratio", flush=True)
        for title, row in PARTS[part](suite):
            rows[title] = row
            speeds = {name: value for name, value in row.items() if name.endswith("tokens_per_s")}
            print(
                f"{title:32}", "; ".join(f"{name[:-13]} {_cell(value)}" for name, value in speeds.items()), flush=True
            )
            results[part] = rows
            file.write_text(json.dumps(results, indent=1) + "\n")  # after each row: a run takes an hour
    tables = [f"## {part}\n\n{markdown(results[part])}\n" for part in PARTS if part in results]
    (options.out / "tables.md").write_text("\n".join(tables))
    plot(results, options.out)


if __name__ == "__main__":
    main()
