"""The command line: one module per command. Heavy imports happen inside commands, so that `blazr --help` is quick."""
