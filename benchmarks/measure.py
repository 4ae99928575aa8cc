"""One engine on one GGUF file in a process of its own: load time, prefill and decode speed, peak memory, as JSON.

Run by compare.py, which pairs two engines; knows nothing of the other one.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable
from typing import Any


class Boostr:
    def __init__(self, path: str, threads: int, context: int, precise: bool) -> None:
        import numpy as np

        import boostr
        import numr
        from boostr.state import Batch

        numr.set_num_threads(threads)
        self._model = boostr.load(path, precise=precise, context_length=context)
        self._pack, self._array = Batch.pack, np.asarray
        self.reset()

    def reset(self) -> None:
        self._state = self._model.new_state()

    def eval(self, ids: list[int]) -> int:
        """Run `ids` and return the best next token."""
        hidden = self._model.network.forward(self._pack([(ids, self._state)], read="last"))
        return int(self._array(self._model.network.logits(hidden))[0].argmax())


class LlamaCpp:
    def __init__(self, path: str, threads: int, context: int, precise: bool) -> None:
        import llama_cpp
        import numpy as np

        self._np = np
        self._model = llama_cpp.Llama(
            path, n_ctx=context, n_threads=threads, n_threads_batch=threads, n_batch=512, n_ubatch=512, verbose=False
        )

    def reset(self) -> None:
        self._model.reset()

    def eval(self, ids: list[int]) -> int:
        import llama_cpp

        self._model.eval(ids)
        logits = llama_cpp.llama_get_logits_ith(self._model.ctx, -1)
        return int(self._np.ctypeslib.as_array(logits, (self._model.n_vocab(),)).argmax())


ENGINES: dict[str, Callable[..., Any]] = {"boostr": Boostr, "llama.cpp": LlamaCpp}


def measure(engine: Any, prompt: int, decode: int, repeats: int) -> dict[str, float]:
    """Best of `repeats` in tokens per second, after one warm-up pass."""
    ids = [(37 * i) % 997 + 3 for i in range(prompt)]
    prefill, decoding = [], []
    for _ in range(repeats + 1):
        engine.reset()
        started = time.perf_counter()
        token = engine.eval(ids)
        middle = time.perf_counter()
        for _ in range(decode):
            token = engine.eval([token])
        prefill.append(prompt / (middle - started))
        decoding.append(decode / (time.perf_counter() - middle))
    return {"prefill_tokens_per_s": max(prefill[1:]), "decode_tokens_per_s": max(decoding[1:])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--decode", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--precise", action="store_true")
    options = parser.parse_args()
    started = time.perf_counter()
    engine = ENGINES[options.engine](
        options.model, options.threads, options.prompt + options.decode + 8, options.precise
    )
    engine.eval([1])
    result = {"engine": options.engine, "load_s": time.perf_counter() - started}
    result |= measure(engine, options.prompt, options.decode, options.repeats)
    result["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(result))


if __name__ == "__main__":
    main()
