"""SafeTensors: one file, or a model of several shards."""

from boostr.formats.safetensors.reader import SafeTensorsFile, SafeTensorsModel

__all__ = ["SafeTensorsFile", "SafeTensorsModel"]
