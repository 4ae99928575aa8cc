"""The functions of the array API standard, one module per chapter, written once over the array module of a device.

`import numr` shows them all; linalg and fft are `numr.linalg` and `numr.fft`.
"""

from numr.namespace import (
    constants,
    creation,
    data_types,
    elementwise,
    indexing,
    inspection,
    linear_algebra,
    manipulation,
    searching,
    sets,
    sorting,
    statistical,
    utility,
)
from numr.namespace.constants import *  # noqa: F403
from numr.namespace.creation import *  # noqa: F403
from numr.namespace.data_types import *  # noqa: F403
from numr.namespace.elementwise import *  # noqa: F403
from numr.namespace.indexing import *  # noqa: F403
from numr.namespace.inspection import *  # noqa: F403
from numr.namespace.linear_algebra import *  # noqa: F403
from numr.namespace.manipulation import *  # noqa: F403
from numr.namespace.searching import *  # noqa: F403
from numr.namespace.sets import *  # noqa: F403
from numr.namespace.sorting import *  # noqa: F403
from numr.namespace.statistical import *  # noqa: F403
from numr.namespace.utility import *  # noqa: F403

__all__: list[str] = []
__all__ += constants.__all__
__all__ += creation.__all__
__all__ += data_types.__all__
__all__ += elementwise.__all__
__all__ += indexing.__all__
__all__ += inspection.__all__
__all__ += linear_algebra.__all__
__all__ += manipulation.__all__
__all__ += searching.__all__
__all__ += sets.__all__
__all__ += sorting.__all__
__all__ += statistical.__all__
__all__ += utility.__all__
