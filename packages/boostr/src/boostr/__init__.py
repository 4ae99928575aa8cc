"""boostr: language models and decision models on numr."""
