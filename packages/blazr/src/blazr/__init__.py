"""blazr: runs and serves language models: command line, HTTP server, model lifecycle. No numerics: those are boostr's.

The programming interface is boostr's; this package is used as the program `blazr`, or as `python -m blazr`.
"""

__version__ = "0.1.0"

__all__ = ["__version__"]
