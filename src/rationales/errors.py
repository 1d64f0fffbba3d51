"""Every error this package raises on purpose.

RationalesError
├── InputError            (ValueError)   an argument or option is not usable
│   ├── NoSuchSplit                      a data set does not have the split that is asked for
│   └── UnknownName       (KeyError)     nothing is registered under this name
├── DataError             (ValueError)   a row or file of a data set cannot be read; says file, row and reason
├── ModelError            (RuntimeError) a model cannot be loaded, trained or run
│   └── MissingCapability                the model lacks what a method needs; says what and for which model
├── FileFormatError       (ValueError)   a file of explanations or results is damaged or not ours
│   └── FileVersionError                 the file was written by a later version
├── WriteError            (OSError)      a file cannot be written: no such place, no permission, a full disk
└── MissingExtra          (ImportError)  an optional package is not installed; says how to install it

QualityWarning (UserWarning) says that explanations were made, but are not as exact as they should be.
"""

from collections.abc import Sequence
from importlib import import_module
from types import ModuleType


class RationalesError(Exception):
    """The root: catch this to catch everything below."""


class InputError(RationalesError, ValueError):
    """An argument or option is not usable."""


class NoSuchSplit(InputError):
    """A data set does not have the split that is asked for; `others` are those that it has."""

    def __init__(self, message: str, others: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.others = tuple(others)


class UnknownName(InputError, KeyError):
    """Nothing is registered under this name."""

    __str__ = Exception.__str__  # a KeyError would put its message in quotes


class DataError(RationalesError, ValueError):
    """A row or file of a data set cannot be read."""

    def __init__(self, reason: str, *, file: object = None, row: int | None = None) -> None:
        self.reason, self.file, self.row = reason, file, row
        where = "" if file is None else f"{file}"
        where += "" if row is None else f"{', ' if where else ''}row {row}"
        super().__init__(f"{where}: {reason}" if where else reason)


class ModelError(RationalesError, RuntimeError):
    """A model cannot be loaded, trained or run."""


class MissingCapability(ModelError):
    """The model lacks what a method needs."""


class FileFormatError(RationalesError, ValueError):
    """A file of explanations or results is damaged or not ours."""


class FileVersionError(FileFormatError):
    """The file was written by a later version of this package."""


class WriteError(RationalesError, OSError):
    """A file cannot be written; what was there before is as it was."""


class MissingExtra(RationalesError, ImportError):
    """An optional package is not installed."""


class QualityWarning(UserWarning):
    """Explanations were made, but are not as exact as they should be."""


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import an optional package, or say which extra brings it.

    >>> require("json", extra="none", purpose="this example").__name__
    'json'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != module.split(".")[0]:
            raise
        raise MissingExtra(
            f"{purpose} needs the package {module.split('.')[0]!r}, which is not installed. "
            f'Install it with: pip install "rationales[{extra}]"'
        ) from error
