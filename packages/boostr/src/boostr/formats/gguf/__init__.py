"""GGUF: reader, typed metadata, writer."""

from boostr.formats.gguf.metadata import Metadata
from boostr.formats.gguf.reader import GGUFFile
from boostr.formats.gguf.writer import write_gguf

__all__ = ["GGUFFile", "Metadata", "write_gguf"]
