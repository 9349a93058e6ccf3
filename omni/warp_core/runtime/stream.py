"""Waiting for work to finish. CPU launches are finished when `launch` returns, so nothing is left to wait for."""

from __future__ import annotations

from typing import Any

from .device import Device, get_device

__all__ = ["synchronize", "synchronize_device", "synchronize_event", "synchronize_stream"]


def synchronize() -> None:
    """Wait until all devices have finished.

    >>> wp.synchronize()
    """


def synchronize_device(device: Device | str | None = None) -> None:
    """Wait until a device has finished.

    Args:
        device: A device or its name; the default device for None.

    Raises:
        RuntimeError: If the device is not available.

    >>> wp.synchronize_device("cpu")
    """
    get_device(device)


def synchronize_stream(stream: Any = None) -> None:
    """Wait until a stream has finished.

    Args:
        stream: A stream, or a device for its current stream. The CPU has finished when a launch returns.

    >>> wp.synchronize_stream()
    """
    if isinstance(stream, (Device, str)):
        get_device(stream)


def synchronize_event(event: Any = None) -> None:
    """Wait for an event.

    Args:
        event: The event. On the CPU it has happened.

    >>> wp.synchronize_event()
    """
