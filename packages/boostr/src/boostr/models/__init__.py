"""Architectures, one file each, and loading them from checkpoints by name tables. Knows no tokens' meaning."""

from boostr.models.adapters import resolve_adapter
from boostr.models.loading import load_network
from boostr.models.network import Network
from boostr.models.registry import GGUF_ARCHITECTURES, MODEL_TYPES
from boostr.models.report import LoadReport, Uploaded

__all__ = [
    "GGUF_ARCHITECTURES",
    "MODEL_TYPES",
    "LoadReport",
    "Network",
    "Uploaded",
    "load_network",
    "resolve_adapter",
]
