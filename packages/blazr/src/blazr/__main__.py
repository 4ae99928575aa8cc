"""`python -m blazr` is `blazr`."""

from blazr.cli.main import main

main()
