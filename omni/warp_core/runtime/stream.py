"""Waiting for work to finish. CPU launches are finished when `launch` returns, so nothing is left to wait for."""

from __future__ import annotations

from typing import Any

from .device import Device, get_device

__all__ = ["synchronize", "synchronize_device", "synchronize_event", "synchronize_stream"]


def synchronize() -> None:
    """Wait until all devices have finished.

    >>> synchronize()
    """


def synchronize_device(device: Device | str | None = None) -> None:
    """Wait until `device` (the default device for None) has finished.

    Raises:
        RuntimeError: If the device is not available.

    >>> synchronize_device("cpu")
    """
    get_device(device)


def synchronize_stream(stream: Any = None) -> None:
    """Wait until the stream, or the current stream of a device, has finished.

    >>> synchronize_stream()
    """
    if isinstance(stream, (Device, str)):
        get_device(stream)


def synchronize_event(event: Any = None) -> None:
    """Wait for an event.

    >>> synchronize_event()
    """
