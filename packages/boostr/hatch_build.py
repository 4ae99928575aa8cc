"""Makes a wheel of one platform, holding the native libraries that tools/build_native.py compiled for it.

Without the two variables it does nothing: an ordinary build is a wheel for any platform.
"""

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PrebuiltLibraries(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder, platform = os.environ.get("NUMR_WHEEL_LIBRARIES"), os.environ.get("NUMR_WHEEL_PLATFORM")
        if not folder or not platform or version != "standard":
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        build_data["force_include"][os.path.join(folder, self.metadata.name)] = self.metadata.name
