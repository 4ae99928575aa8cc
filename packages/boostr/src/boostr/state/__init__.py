"""What a sequence keeps between passes, and how several sequences are packed into one pass. Knows no architecture."""

from boostr.state.batch import Batch, Span, Step
from boostr.state.sequence import SequenceState, Snapshot, resident_bytes
from boostr.state.spec import KVLayout, KVSpec, StateSpec

__all__ = ["Batch", "KVLayout", "KVSpec", "SequenceState", "Snapshot", "Span", "StateSpec", "Step", "resident_bytes"]
