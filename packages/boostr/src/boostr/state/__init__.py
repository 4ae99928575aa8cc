"""What a sequence keeps between passes, and how several sequences are packed into one pass. Knows no architecture."""

from boostr.state.adapters import AdaptedRows, Hidden
from boostr.state.batch import Batch, Read, Reads, Span, Step, long_prompt
from boostr.state.memory import MemoryLayer, MemoryTable
from boostr.state.sequence import SequenceState, Snapshot, resident_bytes
from boostr.state.spec import ConvSpec, KVLayout, KVSpec, RecurrentSpec, StateSpec

__all__ = [
    "AdaptedRows",
    "Batch",
    "ConvSpec",
    "Hidden",
    "KVLayout",
    "KVSpec",
    "MemoryLayer",
    "MemoryTable",
    "Read",
    "Reads",
    "RecurrentSpec",
    "SequenceState",
    "Snapshot",
    "Span",
    "StateSpec",
    "Step",
    "long_prompt",
    "resident_bytes",
]
