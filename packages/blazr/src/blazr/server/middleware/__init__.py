"""Pure ASGI middleware, one class a file. Never BaseHTTPMiddleware: it hides disconnects from streaming routes."""
