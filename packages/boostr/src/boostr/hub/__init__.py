"""Models by name: a path, or a repository already in the Hugging Face cache. Never touches the network."""

from boostr.hub.cache import cache_directory, cached_snapshot, is_repo_id
from boostr.hub.resolve import resolve_model

__all__ = ["cache_directory", "cached_snapshot", "is_repo_id", "resolve_model"]
