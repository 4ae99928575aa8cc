"""GGUF: reader, typed metadata, writer."""

from boostr.formats.gguf.metadata import Metadata
from boostr.formats.gguf.reader import GGUFFile

__all__ = ["GGUFFile", "Metadata"]
