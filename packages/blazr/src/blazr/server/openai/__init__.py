"""The OpenAI-compatible routes: request fields in, OpenAI's shapes out."""
