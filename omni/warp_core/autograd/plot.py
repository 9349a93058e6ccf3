"""`jacobian_plot`: a picture of Jacobians, drawn by matplotlib where it is installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays.array import array
from ..lang.kernel import Kernel
from .flatten import count, numbers
from .targets import FunctionMetadata, Pair


def jacobian_plot(
    jacobians: dict[Pair, array],
    kernel: Any,
    inputs: Sequence[Any] | None = None,
    show_plot: bool = True,
    show_colorbar: bool = True,
    scale_colors_per_submatrix: bool = False,
    title: str | None = None,
    colormap: str = "coolwarm",
    log_scale: bool = False,
    *,
    filename: str | None = None,
) -> Any:
    """Draw Jacobians side by side: a row of pictures for each output, a column for each input.

    Args:
        jacobians: What `jacobian` or `jacobian_fd` returned.
        kernel: The kernel or function that they belong to, or a `FunctionMetadata` with its names.
        inputs: The list of inputs, for the names of a kernel's outputs.
        show_plot: Open a window with the picture; with `filename` none is opened.
        show_colorbar: Draw the scale of the colors.
        scale_colors_per_submatrix: Scale colors for each Jacobian instead of for all together.
        title: The heading; the name of the function if left out.
        colormap: A colormap of matplotlib.
        log_scale: Color by magnitude on a logarithmic scale, with signs.
        filename: Save the picture there, as PNG, SVG or PDF by its ending.

    Returns:
        The figure of matplotlib.

    Raises:
        ImportError: If matplotlib is not installed.
        ValueError: If there are no Jacobians.
    """
    try:
        from matplotlib import colors
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ImportError:
        raise ImportError("jacobian_plot draws with matplotlib: pip install matplotlib") from None
    if not jacobians:
        raise ValueError("jacobians: there is no Jacobian to draw")
    ins, outs = (sorted({pair[side] for pair in jacobians}) for side in (0, 1))
    name, in_labels, out_labels = _names(kernel, inputs, ins, outs)
    matrices = {pair: _matrix(j) for pair, j in jacobians.items()}
    figure = _figure(Figure, show_plot and filename is None, 1.5 + 3.0 * len(ins), 1.2 + 2.4 * len(outs))
    grid = figure.subplots(len(outs), len(ins), squeeze=False)
    whole = _largest(list(matrices.values()))
    for (i, o), matrix in matrices.items():
        axes = grid[outs.index(o)][ins.index(i)]
        most = _largest([matrix]) if scale_colors_per_submatrix else whole
        norm = colors.SymLogNorm(most * 1e-3, vmin=-most, vmax=most) if log_scale else colors.Normalize(-most, most)
        image = axes.imshow(matrix, cmap=colormap, norm=norm, aspect="auto", interpolation="nearest")
        axes.set_title(f"{out_labels[o]} by {in_labels[i]}", fontsize=10)
        axes.tick_params(labelsize=7)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(integer=True))
        if show_colorbar and scale_colors_per_submatrix:
            figure.colorbar(image, ax=axes)
    for axes in (grid[outs.index(o)][ins.index(i)] for o in outs for i in ins if (i, o) not in matrices):
        axes.set_axis_off()
    if show_colorbar and not scale_colors_per_submatrix:
        figure.colorbar(image, ax=grid, fraction=0.05)
    figure.suptitle(name if title is None else title)
    _finish(figure, show_plot, filename)
    return figure


def _figure(plain: Any, interactive: bool, width: float, height: float) -> Any:
    if not interactive:
        return plain(figsize=(width, height), layout="constrained")
    from matplotlib import pyplot

    return pyplot.figure(figsize=(width, height), layout="constrained")


def _finish(figure: Any, show_plot: bool, filename: str | None) -> None:
    if filename is not None:
        figure.savefig(filename, dpi=150)
    elif show_plot:
        from matplotlib import pyplot

        pyplot.show()


def _matrix(jacobian: array) -> np.ndarray:
    """Rows of components; blocks one below the other."""
    rows = int(np.prod(jacobian.shape[:-1]))
    return numbers(jacobian).reshape(rows, count(jacobian) // max(rows, 1))


def _largest(matrices: Sequence[np.ndarray]) -> float:
    most = max((float(np.abs(m[np.isfinite(m)]).max(initial=0.0)) for m in matrices), default=0.0)
    return most or 1.0


def _names(kernel: Any, inputs: Any, ins: list[int], outs: list[int]) -> tuple[str, dict[int, str], dict[int, str]]:
    """Return the titles: of the whole, and by position of inputs and outputs."""
    name, given, results = getattr(kernel, "__name__", "Jacobian"), [], []
    if isinstance(kernel, FunctionMetadata):
        name, given, results = kernel.key or name, kernel.input_labels or [], kernel.output_labels or []
    elif isinstance(kernel, Kernel):
        names = [label for label, _ in kernel.params]
        split = len(inputs) if inputs is not None else max(ins) + 1
        name, given, results = kernel.name, names[:split], names[split:]
    return (
        name,
        {i: given[i] if i < len(given) else f"input_{i}" for i in ins},
        {o: results[o] if o < len(results) else f"output_{o}" for o in outs},
    )
