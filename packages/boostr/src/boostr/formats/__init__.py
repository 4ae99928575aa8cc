"""Model files as named tensors: GGUF and SafeTensors, plus the JSON beside them. Knows no architecture."""

from boostr.formats.checkpoint import Checkpoint, open_checkpoint
from boostr.formats.facts import CheckpointFacts, checkpoint_facts
from boostr.formats.tensor_info import TensorInfo

__all__ = ["Checkpoint", "CheckpointFacts", "TensorInfo", "checkpoint_facts", "open_checkpoint"]
