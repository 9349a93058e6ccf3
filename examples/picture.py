"""Pictures of results: panels with axes, lines, dots and images side by side. Needs Pillow only.

figure = Figure(columns=2)
panel = figure.panel("a curve", xs=(0, 10), ys=(0, 1), xlabel="seconds")
panel.line([0, 5, 10], [0.0, 0.8, 0.9])
figure.save("curve.png")
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

BLUE, ORANGE, GREEN, RED = (31, 95, 168), (222, 120, 20), (46, 139, 87), (190, 40, 40)
GREY, LIGHT, DARK = (120, 120, 120), (222, 222, 222), (40, 40, 40)
FINE = 3  # drawn this many times as large, then made smaller, so that lines are smooth


class Figure:
    """A row of panels, each of `size` pixels."""

    def __init__(self, columns: int, size: tuple[int, int] = (300, 280)):
        self.size, self.columns, self.used = size, columns, 0
        self.image = Image.new("RGB", (size[0] * columns * FINE, size[1] * FINE), "white")

    def panel(
        self,
        title: str,
        xs: tuple[float, float],
        ys: tuple[float, float],
        xlabel: str = "",
        log: bool = False,
        equal: bool = False,
        axes: bool = True,
    ) -> Panel:
        """The next panel, showing `xs` and `ys` (with `log` on a logarithmic scale; with `equal` undistorted)."""
        left, width, height = self.used * self.size[0], *self.size
        self.used += 1
        longest = max(len(f"{y:,.8g}") for y in (_powers(*ys) if log else _ticks(*ys)))
        margin = (14 + 6 * longest, 30, 14, 44 if xlabel else 26) if axes else (10, 30, 10, 10)
        box = left + margin[0], margin[1], left + width - margin[2], height - margin[3]
        return Panel(self.image, tuple(FINE * v for v in box), title, xs, ys, xlabel, log, equal, axes)

    def loss(self, losses: Sequence[float], title: str = "loss") -> None:
        """A panel with the curve of a loss over the iterations of a descent, on a logarithmic scale."""
        low, high = 10.0 ** math.floor(math.log10(min(losses))), 10.0 ** math.ceil(math.log10(max(losses)))
        panel = self.panel(title, (0, len(losses) - 1), (low, high), "iteration", log=True)
        panel.line(range(len(losses)), losses, BLUE, 2)

    def save(self, path: str) -> None:
        """Write the picture."""
        small = self.image.resize((self.image.width // FINE, self.image.height // FINE), Image.Resampling.LANCZOS)
        small.save(path, optimize=True)
        print(f"wrote {path}")


class Panel:
    """A frame with scales, to draw in with the units of its axes."""

    def __init__(self, image, box, title, xs, ys, xlabel, log, equal, axes):
        self.image, self.draw, self.log = image, ImageDraw.Draw(image), log
        if equal:
            xs, ys, box = _undistorted(xs, ys, box)
        self.box, self.xs, self.ys = box, xs, ys
        x0, y0 = box[:2]
        self._text((x0, y0 - 9 * FINE), title, 13, "ls", DARK)
        if axes:
            self._scale(xlabel)
            self.draw.rectangle(box, outline=GREY, width=FINE)

    def line(self, xs, ys, color=BLUE, width: float = 1.5) -> None:
        """A line through points."""
        self._inside("line", xs, ys, fill=color, width=round(width * FINE), joint="curve")

    def dots(self, xs, ys, color=BLUE, radius: float = 2.5) -> None:
        """A dot at each point."""
        r = radius * FINE
        for x, y in (self._at(x, y) for x, y in zip(xs, ys)):
            self.draw.ellipse((x - r, y - r, x + r, y + r), fill=color)

    def fill(self, xs, ys, color=LIGHT) -> None:
        """A filled polygon."""
        self._inside("polygon", xs, ys, fill=color)

    def text(self, x: float, y: float, text: str, color=DARK, anchor: str = "lm") -> None:
        """Text beside a point; `anchor` as Pillow has it."""
        self._text(self._at(x, y), text, 11, anchor, color)

    def pixels(self, values: np.ndarray, low: float = 0.0, high: float = 1.0, warm: bool = False) -> None:
        """An image of the numbers between `low` and `high`, row 0 at the top."""
        shade = np.clip((np.asarray(values, float) - low) / (high - low), 0.0, 1.0)[..., None]
        stops = np.array(
            [[12, 8, 40], [130, 30, 100], [240, 110, 40], [255, 245, 190]] if warm else [[0] * 3, [255] * 3]
        )
        place = shade * (len(stops) - 1)
        below = np.minimum(place.astype(int), len(stops) - 2)[..., 0]
        colors = stops[below] + (place - below[..., None]) * (stops[below + 1] - stops[below])
        x0, y0, x1, y1 = (round(v) for v in self.box)
        side = min(x1 - x0, y1 - y0)
        picture = Image.fromarray(colors.astype(np.uint8)).resize((side, side), Image.Resampling.NEAREST)
        self.image.paste(picture, (x0, y0))
        self.draw.rectangle((x0, y0, x0 + side, y0 + side), outline=GREY, width=FINE)

    def _inside(self, shape: str, xs, ys, **style) -> None:
        """Draw what may leave the frame, and is cut off there."""
        x0, y0, x1, y1 = (round(v) for v in self.box)
        inside = self.image.crop((x0, y0, x1, y1))
        points = [(px - x0, py - y0) for px, py in (self._at(x, y) for x, y in zip(xs, ys))]
        getattr(ImageDraw.Draw(inside), shape)(points, **style)
        self.image.paste(inside, (x0, y0))

    def _at(self, x: float, y: float) -> tuple[float, float]:
        x0, y0, x1, y1 = self.box
        low, high, y = (*map(math.log10, self.ys), math.log10(y)) if self.log else (*self.ys, y)
        return x0 + (x - self.xs[0]) / (self.xs[1] - self.xs[0]) * (x1 - x0), y1 - (y - low) / (high - low) * (y1 - y0)

    def _scale(self, xlabel: str) -> None:
        x0, y0, x1, y1 = self.box
        for x in _ticks(*self.xs):
            at = self._at(x, self.ys[0])[0]
            self.draw.line((at, y0, at, y1), fill=LIGHT, width=FINE)
            self._text((at, y1 + 4 * FINE), f"{x:,.8g}", 11, "mt", GREY)
        for y in _powers(*self.ys) if self.log else _ticks(*self.ys):
            at = self._at(self.xs[0], y)[1]
            self.draw.line((x0, at, x1, at), fill=LIGHT, width=FINE)
            self._text((x0 - 4 * FINE, at), f"{y:,.8g}", 11, "rm", GREY)
        self._text(((x0 + x1) / 2, y1 + 22 * FINE), xlabel, 11, "mt", DARK)

    def _text(self, at: tuple[float, float], text: str, size: int, anchor: str, color) -> None:
        self.draw.text(at, text, fill=color, font=ImageFont.load_default(size * FINE), anchor=anchor)


def _undistorted(xs, ys, box):
    """Narrower axes or a smaller box, so that a unit is as long in both directions."""
    x0, y0, x1, y1 = box
    unit = min((x1 - x0) / (xs[1] - xs[0]), (y1 - y0) / (ys[1] - ys[0]))
    more_x = ((x1 - x0) / unit - (xs[1] - xs[0])) / 2
    more_y = ((y1 - y0) / unit - (ys[1] - ys[0])) / 2
    return (xs[0] - more_x, xs[1] + more_x), (ys[0] - more_y, ys[1] + more_y), box


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers between two, three to six of them."""
    step = 10.0 ** math.floor(math.log10(high - low))
    step = next(step * f for f in (0.2, 0.5, 1.0, 2.0) if (high - low) / (step * f) <= 6)
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def _powers(low: float, high: float) -> list[float]:
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    return [10.0**e for e in range(first, last + 1, max(1, (last - first) // 5))]
