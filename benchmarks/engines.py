"""boostr, llama.cpp and transformers behind one small interface: sequences of one model, read and decoded greedily.

    read(ids, sequence=0) -> next token        append ids to a sequence
    step(tokens) -> next tokens                one token for each of the first len(tokens) sequences, in one pass
    reset()                                    all sequences empty

Knows nothing of timing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["ENGINES"]


class Boostr:
    def __init__(self, path: str, threads: int, context: int, sequences: int = 1, **options: Any) -> None:
        import numpy as np

        import boostr
        import numr
        from boostr.state import Batch

        numr.set_num_threads(threads)
        self._model = boostr.load(path, context_length=context, **options)
        self._pack, self._array, self._count = Batch.pack, np.asarray, sequences
        self.reset()

    def reset(self) -> None:
        self._states = [self._model.new_state() for _ in range(self._count)]

    def read(self, ids: Sequence[int], sequence: int = 0) -> int:
        return self._next([(ids, self._states[sequence])])[0]

    def step(self, tokens: Sequence[int]) -> list[int]:
        return self._next([([token], state) for token, state in zip(tokens, self._states, strict=False)])

    def _next(self, sequences: list[tuple[Sequence[int], Any]]) -> list[int]:
        network = self._model.network
        logits = network.logits(network.forward(self._pack(sequences, read="last")))
        best: list[int] = self._array(logits).argmax(axis=1).tolist()
        return best


class LlamaCpp:
    def __init__(self, path: str, threads: int, context: int, sequences: int = 1, **options: Any) -> None:
        import llama_cpp
        import numpy as np

        if options:
            raise SystemExit(f"llama.cpp takes no {', '.join(options)}")
        self._lib, self._np = llama_cpp, np
        llama_cpp.llama_log_set(_quiet(llama_cpp), None)
        llama_cpp.llama_backend_init()
        model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
        if not model:
            raise SystemExit(f"llama.cpp cannot load {path}")
        params = llama_cpp.llama_context_default_params()
        params.n_ctx, params.n_seq_max = context * sequences, sequences
        params.n_batch = params.n_ubatch = 512
        params.n_threads = params.n_threads_batch = threads
        self._context = llama_cpp.llama_init_from_model(model, params)
        self._vocab = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
        self._batch = llama_cpp.llama_batch_init(512, 0, 1)
        self._lengths = [0] * sequences

    def reset(self) -> None:
        self._lib.llama_memory_clear(self._lib.llama_get_memory(self._context), True)
        self._lengths = [0] * len(self._lengths)

    def read(self, ids: Sequence[int], sequence: int = 0) -> int:
        for start in range(0, len(ids), 512):
            part = ids[start : start + 512]
            self._decode([(token, sequence, start + len(part) == len(ids)) for token in part])
        return self._best(-1)

    def step(self, tokens: Sequence[int]) -> list[int]:
        self._decode([(token, sequence, True) for sequence, token in enumerate(tokens)])
        return [self._best(row) for row in range(len(tokens))]

    def _decode(self, items: list[tuple[int, int, bool]]) -> None:
        batch = self._batch
        batch.n_tokens = len(items)
        for at, (token, sequence, _) in enumerate(items):
            batch.token[at], batch.pos[at] = token, self._lengths[sequence]
            batch.n_seq_id[at], batch.seq_id[at][0] = 1, sequence
            batch.logits[at] = 0
            self._lengths[sequence] += 1
        last = {sequence: (at, wanted) for at, (_, sequence, wanted) in enumerate(items)}
        for at, wanted in last.values():
            batch.logits[at] = wanted
        if self._lib.llama_decode(self._context, batch):
            raise SystemExit("llama_decode failed")

    def _best(self, row: int) -> int:
        logits = self._lib.llama_get_logits_ith(self._context, row)
        return int(self._np.ctypeslib.as_array(logits, (self._vocab,)).argmax())


class Transformers:
    """A directory of SafeTensors in float32; one sequence."""

    def __init__(self, path: str, threads: int, context: int, sequences: int = 1, **options: Any) -> None:
        import torch
        from transformers import AutoModelForCausalLM

        if sequences > 1 or options:
            raise SystemExit("transformers is measured with one sequence and no options")
        torch.set_num_threads(threads)
        self._torch = torch
        self._model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()
        self.reset()

    def reset(self) -> None:
        self._cache: Any = None

    def read(self, ids: Sequence[int], sequence: int = 0) -> int:
        with self._torch.inference_mode():
            tokens = self._torch.tensor([list(ids)])
            out = self._model(tokens, past_key_values=self._cache, use_cache=True, logits_to_keep=1)
        self._cache = out.past_key_values
        return int(out.logits[0, -1].argmax())

    def step(self, tokens: Sequence[int]) -> list[int]:
        return [self.read(tokens)]


def _quiet(llama_cpp: Any) -> Any:
    global _callback  # the library keeps the address only
    _callback = llama_cpp.llama_log_callback(lambda level, text, data: None)
    return _callback


_callback: Any = None
ENGINES: dict[str, Callable[..., Any]] = {"boostr": Boostr, "llama.cpp": LlamaCpp, "transformers": Transformers}
