"""What a sequence keeps between passes, and how several sequences are packed into one pass. Knows no architecture."""

from boostr.state.batch import Batch, Span, Step
from boostr.state.memory import MemoryLayer, MemoryTable
from boostr.state.sequence import SequenceState, Snapshot, resident_bytes
from boostr.state.spec import ConvSpec, KVLayout, KVSpec, RecurrentSpec, StateSpec

__all__ = [
    "Batch",
    "ConvSpec",
    "KVLayout",
    "KVSpec",
    "MemoryLayer",
    "MemoryTable",
    "RecurrentSpec",
    "SequenceState",
    "Snapshot",
    "Span",
    "StateSpec",
    "Step",
    "resident_bytes",
]
