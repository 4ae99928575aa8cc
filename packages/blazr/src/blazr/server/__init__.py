"""The HTTP server: routes, wire shapes, middleware, shutdown. Knows models through lifecycle, work through engine."""
