"""Every error numr raises on purpose. Nothing here knows of models, files or servers.

NumrError
├── ShapeError        (ValueError)      shapes do not fit the operation
├── DTypeError        (TypeError)       a dtype is not accepted, or dtypes do not promote
├── DeviceError       (ValueError)      a device is unknown, absent, or operands sit on two devices
├── UnsupportedError  (TypeError)       the operation exists, but not for this dtype on this device
└── NativeError       (RuntimeError)    a native library could not be built, found or trusted
"""

__all__ = ["DTypeError", "DeviceError", "NativeError", "NumrError", "ShapeError", "UnsupportedError"]


class NumrError(Exception):
    """Base of every error that numr raises on purpose."""


class ShapeError(NumrError, ValueError):
    """Shapes do not fit the operation; the message gives both."""


class DTypeError(NumrError, TypeError):
    """A dtype is not accepted here, or two dtypes have no common type."""


class DeviceError(NumrError, ValueError):
    """A device is unknown or absent, or the operands of one call sit on different devices."""


class UnsupportedError(NumrError, TypeError):
    """The operation has no kernel for this dtype on this device; the message names all three."""


class NativeError(NumrError, RuntimeError):
    """A native library could not be built, found or trusted."""
