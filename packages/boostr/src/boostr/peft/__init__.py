"""PEFT adapters as they are published: a directory of adapter_config.json and adapter_model.safetensors.

An adapter is read and checked by itself; which module of which network it changes is found in boostr.models.
"""

from boostr.peft.adapter import BaseRows, LoraModule, PeftAdapter

__all__ = ["BaseRows", "LoraModule", "PeftAdapter"]
