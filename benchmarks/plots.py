"""Plots of the suite's curves as SVG: speed against context length, and against sequences decoding together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["plot"]

_CURVES = (
    ("context", "prefill_tokens_per_s", "tokens of the prompt", "prefill, tokens/s"),
    ("context", "decode_tokens_per_s", "tokens before the decoded one", "decode, tokens/s"),
    ("sequences", None, "sequences decoding together", "tokens/s of all"),
)


def plot(results: dict[str, Any], folder: Path) -> None:
    """Write context-prefill.svg, context-decode.svg and sequences.svg for the parts that were measured."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams |= {"svg.hashsalt": "0", "font.size": 10, "svg.fonttype": "none"}
    for part, figure, x_label, y_label in _CURVES:
        if part in results:
            name = part if figure is None else f"{part}-{figure.removesuffix('_tokens_per_s')}"
            _curve(results[part], figure, x_label, y_label, folder / f"{name}.svg")


def _curve(rows: dict[str, Any], figure: str | None, x_label: str, y_label: str, path: Path) -> None:
    from matplotlib import pyplot

    canvas, axes = pyplot.subplots(figsize=(5.5, 3.4))
    xs = [int(title) for title in rows]
    points = [row[figure or _joint(title)] for title, row in rows.items()]
    for side, label, colour in (("ours", "boostr", "#0b6e99"), ("peer", "llama.cpp", "#b3541e")):
        if side not in points[0]:
            continue
        spread = "range" if side == "ours" else "peer_range"
        axes.plot(xs, [point[side] for point in points], marker="o", label=label, color=colour)
        lows, highs = ([point[spread][at] for point in points] for at in (0, 1))
        axes.fill_between(xs, lows, highs, alpha=0.15, color=colour, linewidth=0)
    axes.set_xscale("log", base=2)
    axes.set_xticks(xs, [str(x) for x in xs])
    axes.set_ylim(bottom=0)
    axes.set(xlabel=x_label, ylabel=y_label)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    canvas.tight_layout()
    canvas.savefig(path, metadata={"Date": None})
    pyplot.close(canvas)


def _joint(count: str) -> str:
    return "decode_tokens_per_s" if count == "1" else f"decode_{count}_sequences_tokens_per_s"
