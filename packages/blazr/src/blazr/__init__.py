"""blazr: command line and server."""
