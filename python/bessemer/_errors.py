# SPDX-License-Identifier: Apache-2.0
"""One class of exceptions for each code of the C API's statuses."""
from . import _core


class Error(RuntimeError):
    """A failure of Bessemer; `code` is the C API's name of its kind. The
    message says what failed, where, and often what to do; its further lines
    tell in what."""
    code = "UNKNOWN"


class InvalidArgumentError(Error, ValueError):
    """The arguments contradict the model, the engine or each other."""
    code = "INVALID_ARGUMENT"


class OutOfMemoryError(Error, MemoryError):
    """There is not enough memory."""
    code = "OUT_OF_MEMORY"


class UnsupportedError(Error, NotImplementedError):
    """Valid, but not something that Bessemer can do."""
    code = "UNSUPPORTED"


class CorruptError(Error, ValueError):
    """A file that is malformed or damaged."""
    code = "CORRUPT"


class LimitError(Error):
    """A limit on what files and runs may ask for was reached."""
    code = "LIMIT"


class IoError(Error, OSError):
    """The operating system refused to read or write a file."""
    code = "IO"


class VersionError(Error):
    """A file of another version of Bessemer."""
    code = "VERSION"


class NotFoundError(Error, LookupError):
    """A name that does not exist."""
    code = "NOT_FOUND"


class OutOfRangeError(Error, IndexError):
    """An index beyond its bounds."""
    code = "OUT_OF_RANGE"


class DataDependentError(Error):
    """The answer needs values that are not known yet."""
    code = "DATA_DEPENDENT"


class RaisedError(Error):
    """The model itself raised an exception."""
    code = "RAISED"


class InternalError(Error):
    """A bug in Bessemer: please report it."""
    code = "INTERNAL"


class DeviceError(Error):
    """A device or its driver failed."""
    code = "DEVICE"


class UntrustedError(Error, PermissionError):
    """The engine carries machine code that there is no reason to trust."""
    code = "UNTRUSTED"


class CancelledError(Error):
    """The progress function of a compilation returned False."""
    code = "CANCELLED"


# By number, as bsm_code.
_core.set_errors([
    Error, InvalidArgumentError, OutOfMemoryError, UnsupportedError,
    CorruptError, LimitError, IoError, VersionError, NotFoundError,
    OutOfRangeError, DataDependentError, RaisedError, InternalError,
    DeviceError, UntrustedError, CancelledError,
])
