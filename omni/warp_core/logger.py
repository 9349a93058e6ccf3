"""Where notes and warnings of the package go: a `Logger`, which a program may replace by one of its own.

    wp.set_logger(my_logger)

`debug`, `info`, `warn`, `warn_at` and `error` are for the package. They pass a message on if `wp.config.log_level` lets
it through. `set_logger` and the scopes are for programs.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any, Protocol, runtime_checkable

from . import config

__all__ = ["Logger", "ScopedLogLevel", "ScopedLogger", "get_logger", "set_logger"]


@runtime_checkable
class Logger(Protocol):
    """What a logger has: a method for each severity. Messages below `wp.config.log_level` do not reach it.

    A logger of the standard module `logging` will do, too.

    >>> class Collected:
    ...     def __init__(self): self.lines = []
    ...     def debug(self, message): self.lines.append(message)
    ...     def info(self, message): self.lines.append(message)
    ...     def warning(self, message, category=None, stacklevel=1): self.lines.append(message)
    ...     def error(self, message): self.lines.append(message)
    >>> isinstance(Collected(), wp.Logger)
    True
    """

    def debug(self, message: str) -> None:
        """Take a message for those who debug."""

    def info(self, message: str) -> None:
        """Take a note."""

    def warning(self, message: str, category: type[Warning] | None = None, stacklevel: int = 1) -> None:
        """Take a warning, of a class of `Warning`. `stacklevel` leads to the line that it is about: 1 for the line that
        calls this method, 2 for the one that called the function around it, and so on.
        """

    def error(self, message: str) -> None:
        """Take the report of an error."""


class DefaultLogger:
    """Prints on stderr. Warnings are those of Python, so filters and `warnings.catch_warnings` apply to them."""

    def debug(self, message: str) -> None:
        """Print a message."""
        self.error(message)

    info = debug

    def warning(self, message: str, category: type[Warning] | None = None, stacklevel: int = 1) -> None:
        """Raise a warning of Python."""
        warnings.warn(message, category or UserWarning, stacklevel + 1)

    def error(self, message: str) -> None:
        """Print a message."""
        print(message, file=sys.stderr)


_DEFAULT = DefaultLogger()
_logger: Logger = _DEFAULT


def get_logger() -> Logger:
    """Return the logger that notes and warnings go to.

    >>> wp.get_logger().info("half of the steps are done")
    """
    return _logger


def set_logger(logger: Logger | None) -> None:
    """Let notes and warnings go to a logger from now on, in all threads.

    Args:
        logger: has the methods of `wp.Logger`; None for the default one, which prints on stderr.

    Raises:
        TypeError: it lacks a method.

    >>> import logging
    >>> wp.set_logger(logging.getLogger("simulation"))
    >>> wp.set_logger(None)
    """
    global _logger
    _logger = _checked(logger)


def _checked(logger: Logger | None) -> Logger:
    if logger is None:
        return _DEFAULT
    missing = [name for name in ("debug", "info", "warning", "error") if not callable(getattr(logger, name, None))]
    if missing:
        raise TypeError(
            f"logger: {type(logger).__name__} has no {' or '.join(missing)}; a logger has debug(message), "
            "info(message), warning(message, category=None, stacklevel=1) and error(message)"
        )
    return logger


class ScopedLogger:
    """A `with` block in which notes and warnings go to a logger.

    Args:
        logger: as for `wp.set_logger`.

    >>> import logging
    >>> with wp.ScopedLogger(logging.getLogger("simulation")):
    ...     x = wp.zeros(3)
    """

    def __init__(self, logger: Logger | None):
        self.logger = _checked(logger)

    def __enter__(self) -> ScopedLogger:
        self._before = _logger
        set_logger(self.logger)
        return self

    def __exit__(self, *exc: object) -> None:
        set_logger(self._before)


class ScopedLogLevel:
    """A `with` block with a `wp.config.log_level` of its own.

    Args:
        log_level: `wp.LOG_DEBUG`, `wp.LOG_INFO`, `wp.LOG_WARNING` or `wp.LOG_ERROR`.

    >>> with wp.ScopedLogLevel(wp.LOG_ERROR):
    ...     assert wp.config.log_level == wp.LOG_ERROR
    """

    def __init__(self, log_level: int):
        self.log_level = log_level

    def __enter__(self) -> ScopedLogLevel:
        self._before = config.log_level
        config.log_level = self.log_level
        return self

    def __exit__(self, *exc: object) -> None:
        config.log_level = self._before


# -- for the package --------------------------------------------------------------------------------------------------


def debug(message: str) -> None:
    """Tell those who debug."""
    if config.threshold() <= config.LOG_DEBUG:
        _logger.debug(message)


def info(message: str) -> None:
    """Tell a note."""
    if config.threshold() <= config.LOG_INFO:
        _logger.info(message)


def error(message: str) -> None:
    """Report an error."""
    if config.threshold() <= config.LOG_ERROR:
        _logger.error(message)


def warn(
    message: str, category: type[Warning] = UserWarning, stacklevel: int = 1, severity: int = config.LOG_WARNING
) -> None:
    """Warn about the line that calls this (1), about that which called the function around it (2), and so on.
    `severity` is that of LOG_ERROR for what the user has to see although warnings are off.
    """
    if config.threshold() <= severity:
        _warn(message, category, stacklevel + 1)


def warn_at(message: str, category: type[Warning], file: str, line: int, registry: dict[Any, Any]) -> None:
    """Warn about a line of a file. `registry` is what Python remembers of the warnings shown for the file."""
    if config.threshold() > config.LOG_WARNING:
        return
    if _logger is _DEFAULT:
        warnings.warn_explicit(message, category, file, line, registry=registry)
    else:
        _warn(f"{file}:{line}: {message}", category, 2)


def _warn(message: str, category: type[Warning], stacklevel: int) -> None:
    if _is_of_logging(_logger):
        _logger.warning(message, stacklevel=stacklevel + 1)
    else:
        _logger.warning(message, category, stacklevel + 1)


def _is_of_logging(logger: Any) -> bool:
    """True for a logger of the standard module, which knows no categories."""
    logging = sys.modules.get("logging")
    return logging is not None and isinstance(logger, (logging.Logger, logging.LoggerAdapter))
