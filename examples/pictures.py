"""Colours and sizes of the pictures of the examples."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib

matplotlib.use("agg")  # pictures go to files: no window, no display

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

BLUE, ORANGE, GREY, LIGHT = "#1f5fa8", "#de7814", "#777777", "#dedede"

plt.rcParams.update(
    {
        "figure.dpi": 120,
        "figure.constrained_layout.use": True,
        "font.size": 9,
        "axes.titlesize": 10,
        "axes.titlelocation": "left",
        "axes.edgecolor": GREY,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.prop_cycle": plt.cycler(color=[BLUE, ORANGE]),
        "grid.color": LIGHT,
        "image.cmap": "gray",
        "lines.linewidth": 1.5,
    }
)


def plot_losses(axes: Axes, losses: Sequence[float], title: str) -> None:
    """The loss over the iterations of a descent."""
    axes.semilogy(losses)
    axes.set(title=title, xlabel="iteration")
    axes.margins(x=0)


def show_field(axes: Axes, field, title: str, **style) -> None:
    """A field of numbers from 0 to 1 as an image."""
    axes.imshow(field, vmin=0.0, vmax=1.0, **style)
    axes.set_title(title)
    axes.set_axis_off()


def save(file: str) -> None:
    """Write the current figure."""
    plt.savefig(file)
    plt.close()
    print(f"wrote {file}")
