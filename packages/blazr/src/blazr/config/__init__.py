"""Settings: what they are (settings.py) and where they come from (load.py). Knows nothing of models or HTTP."""

from blazr.config.load import load_settings
from blazr.config.settings import GenerationSettings, InferenceSettings, ServerSettings, Settings

__all__ = ["GenerationSettings", "InferenceSettings", "ServerSettings", "Settings", "load_settings"]
