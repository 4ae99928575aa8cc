"""One engine on one GGUF file in a process of its own: speeds, load time and peak memory, as JSON on the last line.

Run by compare.py and suite.py, which pair two engines; knows nothing of the other one.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from typing import Any

from engines import ENGINES


def prompt(count: int, seed: int = 0) -> list[int]:
    return [(37 * (at + seed)) % 997 + 3 for at in range(count)]


def prefill_speed(engine: Any, count: int) -> float:
    """Tokens per second of one prompt."""
    engine.reset()
    started = time.perf_counter()
    engine.read(prompt(count))
    return count / (time.perf_counter() - started)


def decode_speed(engine: Any, steps: int, depth: int, sequences: int = 1) -> float:
    """Tokens per second of all `sequences` together, each after `depth` tokens."""
    engine.reset()
    tokens = [engine.read(prompt(depth, at), at) for at in range(sequences)]
    started = time.perf_counter()
    for _ in range(steps):
        tokens = engine.step(tokens)
    return steps * sequences / (time.perf_counter() - started)


def measure(engine: Any, options: argparse.Namespace) -> dict[str, float]:
    """The best of the repeats for each figure that was asked for, after a warm-up."""
    figures = {}
    decode_speed(engine, 2, 8)
    repeats = range(options.repeats)
    for count in filter(None, options.prompt):
        name = "prefill_tokens_per_s" if len(options.prompt) == 1 else f"prefill_{count}_tokens_per_s"
        figures[name] = max(prefill_speed(engine, count) for _ in repeats)
    if options.decode:
        figures["decode_tokens_per_s"] = max(decode_speed(engine, options.decode, options.depth) for _ in repeats)
    if options.sequences > 1:
        name = f"decode_{options.sequences}_sequences_tokens_per_s"
        figures[name] = max(decode_speed(engine, options.decode, options.depth, options.sequences) for _ in repeats)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--prompt", type=int, action="append", help="tokens of a prefill; 0: none; may be repeated")
    parser.add_argument("--decode", type=int, default=32, help="tokens decoded; 0: not measured")
    parser.add_argument("--depth", type=int, default=16, help="tokens read before decoding")
    parser.add_argument("--sequences", type=int, default=1, help="also decode so many sequences together")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--option", action="append", default=[], metavar="NAME=JSON", help="handed to boostr.load")
    options = parser.parse_args()
    options.prompt = options.prompt or [512]
    more = {name: json.loads(value) for name, _, value in (text.partition("=") for text in options.option)}
    context = max(*options.prompt, options.depth + options.decode) + 8
    started = time.perf_counter()
    engine = ENGINES[options.engine](options.model, options.threads, context, options.sequences, **more)
    engine.read([1])
    figures = {"load_and_first_token_s": time.perf_counter() - started} | measure(engine, options)
    figures["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
