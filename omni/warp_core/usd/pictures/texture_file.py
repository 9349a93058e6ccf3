"""Linear colors as files of textures: a PNG with 8 bits for each channel, which shaders read as sRGB."""

from __future__ import annotations

import numpy as np


def color_bytes(colors: np.ndarray) -> np.ndarray:
    """Return linear colors (rows, columns, 4) as bytes: red, green and blue as sRGB has them, opacity as it is.

    >>> color_bytes(np.array([[[0.0, 0.5, 1.0, 0.5]]])).tolist()
    [[[0, 188, 255, 128]]]
    """
    clear = np.clip(np.nan_to_num(colors, nan=0.0), 0.0, 1.0)
    rgb = clear[..., :3]
    encoded = np.where(rgb <= 0.0031308, 12.92 * rgb, 1.055 * rgb ** (1 / 2.4) - 0.055)
    return np.rint(255.0 * np.concatenate([encoded, clear[..., 3:]], -1)).astype(np.uint8)


def write_png(pixels: np.ndarray, target: str) -> None:
    """Write bytes (rows, columns, 4) to a file."""
    from PIL import Image  # here, as most plays write none

    Image.fromarray(pixels).save(target, "PNG")
