"""The part of a tape that is for people: named scopes, where each step comes from, and pictures of it all.

Start with `TapeScopes.visualize`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ..arrays.array import array
from ..dispatch.call_site import CallSite
from ..late_bound import late


class TapeScopes:
    """Mixed into `wp.Tape`."""

    launches: list[Any]

    def __init__(self) -> None:
        self.scopes: list[tuple[int, str | None, dict | None]] = []  # index of the next step, name or None at an end
        self.notes: list[CallSite] = []  # where each step comes from

    def record_scope_begin(self, scope_name: str, metadata: dict | None = None) -> None:
        """Begin a scope: a group of steps that pictures show together.

        Args:
            scope_name: what to call it.
            metadata: anything of your own; it is kept in `scopes`.

        Raises:
            TypeError: `scope_name` is no text.
        """
        if not isinstance(scope_name, str):
            raise TypeError(f"scope_name: expected a text, got {type(scope_name).__name__}")
        self.scopes.append((len(self.launches), scope_name, metadata))

    def record_scope_end(self, remove_scope_if_empty: bool = True) -> None:
        """End the scope that was begun last.

        Args:
            remove_scope_if_empty: forget the scope if nothing was recorded in it.

        Raises:
            RuntimeError: no scope is open.
        """
        if self._open_scopes() == 0:
            raise RuntimeError("record_scope_end: no scope is open on this tape; begin one with record_scope_begin")
        if remove_scope_if_empty and self.scopes[-1][1] is not None and self.scopes[-1][0] == len(self.launches):
            self.scopes.pop()
        else:
            self.scopes.append((len(self.launches), None, None))

    def _open_scopes(self) -> int:
        return sum(1 if name is not None else -1 for _, name, _ in self.scopes)

    def visualize(
        self,
        filename: str | os.PathLike | None = None,
        simplify_graph: bool = True,
        hide_readonly_arrays: bool = False,
        array_labels: dict[array, str] | None = None,
        choose_longest_node_name: bool = True,
        ignore_graph_scopes: bool = False,
        track_inputs: Sequence[array] | None = None,
        track_outputs: Sequence[array] | None = None,
        track_input_names: Sequence[str] | None = None,
        track_output_names: Sequence[str] | None = None,
        graph_direction: str = "LR",
    ) -> str:
        """Draw what is recorded: launches and other steps with their places, and each version of the arrays between.

        Arrays with gradients are green. A repeated sequence of steps is drawn once, as a loop; its dashed edges lead to
        the next turn. Dotted edges lead to views of what was written.

        Args:
            filename: where to save the picture. `.svg` is drawn here, `.dot` or `.gv` is text for Graphviz. The program
                `dot` of Graphviz, if it is installed, draws `.png`, `.pdf`, `.jpg` and `.gif`.
            simplify_graph: draw repeated sequences of steps once.
            hide_readonly_arrays: leave out arrays that no step writes.
            array_labels: names of arrays; the others have that of a parameter that they were passed to.
            choose_longest_node_name: take the longest of these, else the shortest.
            ignore_graph_scopes: draw no scopes.
            track_inputs: arrays to show in any case.
            track_outputs: likewise.
            track_input_names: the names of `track_inputs`.
            track_output_names: the names of `track_outputs`.
            graph_direction: where edges go: LR or TB; in text for Graphviz also RL or BT.

        Returns:
            The text for Graphviz.

        Raises:
            ValueError: the name ends in something else, a direction is unknown, or there are more names than arrays.
            RuntimeError: `dot` is not installed.

        >>> tape = wp.Tape()
        >>> tape.visualize().splitlines()[0]
        'digraph tape {'
        """
        if graph_direction not in ("LR", "TB", "RL", "BT"):
            raise ValueError(f"graph_direction: expected LR, TB, RL or BT, got {graph_direction!r}")
        labels = dict(array_labels or {})
        tracked: list[array] = []
        for arrays, names in ((track_inputs, track_input_names), (track_outputs, track_output_names)):
            if len(names or ()) > len(arrays or ()):
                raise ValueError(f"track_input_names, track_output_names: more names than arrays: {list(names or ())}")
            tracked += arrays or ()
            labels |= dict(zip(arrays or (), names or ()))
        options = (
            simplify_graph, hide_readonly_arrays, labels, choose_longest_node_name, ignore_graph_scopes, tracked
        )  # fmt: skip
        return late("draw_tape")(self, filename, graph_direction, *options)
