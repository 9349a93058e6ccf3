"""The graphs of a stage played from Python, a frame at a time: `wp.usd.play`. Start with `GraphPlayer`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
from pxr import Sdf, Usd

from ...arrays.array import array
from ...usd.output_layer import OutputLayer, SampleLayer
from ...usd.stage import first_and_last
from ..graph.attribute import Attribute, GraphError
from ..graph.node_graph import Log, Node
from ..live_session import Session, Settings, SettingsError
from ..scene import consent
from ..scene.user_values import why_absent
from ..scene.visible_text import harmless
from ..values.array_elements import as_array, element_type
from ..values.attribute_types import BOOL, AttributeType
from ..values.attribute_values import Value, ValueTypeError
from .player import Player

Callback = Callable[[str, Any], None]


class ConsentError(Exception):
    """A stage whose nodes carry code that the user has not agreed to run. `codes` lists it."""

    def __init__(self, codes: list[consent.Code]):
        self.codes = codes
        names = ", ".join(code.node for code in codes[:4]) + (" and more" if len(codes) > 4 else "")
        super().__init__(f"code in {names} would run on this machine; pass trust=True if you trust it")


def open_player(
    scene: str | os.PathLike[str] | Usd.Stage,
    frames: tuple[int, int] | range | None,
    fps: float | None,
    device: str,
    nodes: Iterable[str],
    trust: bool,
) -> GraphPlayer:
    """Do what `wp.usd.play` says."""
    settings = Settings(_chosen(frames), fps, device, nodes=list(nodes), trusted=trust)
    log = Log(lambda text: None, show=lambda text: print(harmless(text)))
    player: Session
    if isinstance(scene, Usd.Stage):
        player = Player.of(_private_view(scene, scene.GetSessionLayer()), settings, log)
    else:
        player = Player.open(os.fspath(scene), settings, log)
    return GraphPlayer(player, trust)


def _chosen(frames: tuple[int, int] | range | None) -> tuple[int, int] | None:
    try:
        return None if frames is None else first_and_last(frames)
    except ValueError as error:
        raise SettingsError(str(error)) from None


class ArraySummary(NamedTuple):
    """What an array holds: its type and length, bounds of the finite numbers by component, and the first elements."""

    type: str
    length: int
    minimum: Any
    maximum: Any
    not_finite: int
    first: list


class GraphPlayer:
    """The graphs of a stage while they play. `wp.usd.play` makes it.

    Paths name attributes: of a node, as in "/Graph/node.inputs:x", or of another prim, as in "/World/Mesh.points".
    Values are Python numbers and texts, NumPy arrays for vectors, matrices and arrays, and tuples of texts.
    """

    def __init__(self, player: Session, trust: bool):
        self._trust = trust
        self._callbacks: list[tuple[str, Callback]] = []
        self._player = player
        self._begin()

    def __enter__(self) -> GraphPlayer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def frame(self) -> int | None:
        """The frame played last, None before the first."""
        return self._player.frame

    @property
    def frames(self) -> tuple[int, int]:
        """First and last frame of the range. `step` may go beyond it."""
        return self._player.start, self._player.end

    @property
    def fps(self) -> float:
        """Frames per second."""
        return self._player.fps

    @property
    def errors(self) -> list[str]:
        """The failures so far, each with the path of its node."""
        return list(self._player.host.log.errors)

    @property
    def warnings(self) -> list[str]:
        """What was odd so far, each with a path."""
        return list(self._player.host.log.warnings)

    def step(self) -> int:
        """Play the next frame and return its number. Failures of nodes go to `errors`; the other nodes run.

        Raises:
            StageError: The stage cannot be read at that frame, or the player is closed.
        """
        return self._tell(self._player.step(self._samples))

    def _tell(self, frame: int) -> int:
        """Call what `on_change` has registered, after a frame."""
        for path, callback in list(self._callbacks):
            version = self._version(path)
            if version != self._seen.get((path, callback), 0):
                self._seen[path, callback] = version
                callback(path, _copied(self._typed(path)[1]))
        return frame

    def seek(self, frame: int) -> int:
        """Play up to a frame and return its number: all frames on the way, as states of nodes come from all of them.

        A frame that lies behind is reached by a `rewind`; the frame of now is not played again.

        Raises:
            ValueError: The frame lies before the first one, or is no whole number.
            StageError: The stage cannot be read at a frame, or the player is closed.
            ConsentError: The stage has other code than before.
        """
        if int(frame) != frame:
            raise ValueError(f"there is no frame {frame}; frames are whole numbers")
        if frame < self._player.start:
            raise ValueError(f"there is no frame {frame}; the first one is {self._player.start}")
        if self.frame is not None and frame < self.frame:
            self.rewind()
        while self.frame is None or self.frame < frame:
            self.step()
        return frame

    def play(self, count: int | None = None) -> None:
        """Play `count` frames, or all up to the end of the range.

        Raises:
            ValueError: `count` is below 0.
        """
        if count is not None and count < 0:
            raise ValueError(f"play({count}): the number of frames is below 0; seek and rewind go back")
        for _ in range(self._player.end - self._player.next_frame + 1 if count is None else count):
            self.step()

    def evaluate(self, graph: str) -> None:
        """Evaluate the graph at a path now: one on demand, which no frame evaluates.

        Raises:
            StageError: The player is closed.
        """
        self._player.open_schedule().evaluate(graph)

    def rewind(self) -> None:
        """Go back before the first frame: the graphs are loaded anew, and results are forgotten. What was `set` stays.

        Raises:
            StageError: The stage has changed and cannot be used any more.
            ConsentError: It has other code than before.
        """
        self.close()
        self._player.load_again()
        self._begin()

    def nodes(self) -> list[Node]:
        """All nodes, with `path`, `type_name`, `failed` and `timing`."""
        return self._player.loaded.nodes()

    def get(self, path: str) -> Any:
        """Return the value of an attribute as it is now; arrays are copies.

        Raises:
            KeyError: There is no such attribute; the text says which names are similar.
        """
        return _copied(self._typed(path)[1])

    def array(self, path: str, device: Any = "cpu") -> array:
        """Return the value of an array attribute as a new `wp.array` of its element type, such as `wp.vec3`.

        Raises:
            KeyError: There is no such attribute.
            TypeError: It is not an array of numbers.
        """
        kind, value = self._typed(path)
        element = element_type(kind)
        if not (kind.is_array and kind.is_numeric) or element is None:
            raise TypeError(f"{path} is of type {kind}, not an array of numbers")
        numbers = np.array(value)
        return as_array(numbers, element, (len(numbers),)).to(device)

    def inspect(self, path: str, first: int = 4) -> ArraySummary:
        """Return length, bounds, the count of NaN and infinite numbers, and the `first` elements of an array attribute.

        Raises:
            KeyError: There is no such attribute.
            TypeError: It is not an array of numbers.
        """
        kind, value = self._typed(path)
        if not (kind.is_array and kind.is_numeric):
            raise TypeError(f"{path} is of type {kind}, not an array of numbers")
        numbers = np.asarray(value)
        finite = np.isfinite(numbers)
        low = high = None
        if finite.any():
            low = np.where(finite, numbers, np.inf).min(0).tolist()
            high = np.where(finite, numbers, -np.inf).max(0).tolist()
        return ArraySummary(str(kind), len(numbers), low, high, int((~finite).sum()), numbers[:first].tolist())

    def set(self, path: str, value: Any) -> None:
        """Set an input of a node. A connection or animation of it no longer counts.

        A new text of a Kernel node (`inputs:codeStr`) compiles in the background; its last good text runs until then.
        `node:enabled` of a node and `graph:enabled` of a graph switch it off with False, and on with True.

        Raises:
            KeyError: There is no such attribute.
            ValueError: The value does not fit its type, or the attribute is no input.
            ConsentError: It is the code of a node, and the stage was opened without `trust=True`.
        """
        if self._player.has_switch(path):
            self._switch(path, value)
            return
        attribute = self._attribute(path)
        kind = attribute.resolved
        if attribute.port != "inputs":
            raise ValueError(f"{path} is not an input; nodes set their outputs and states themselves")
        if attribute.base_name == "codeStr" and self._player.has_code(attribute.node.path):
            self._set_code(attribute.node.path, value)
        try:
            self._player.set(attribute, _copied(value))
        except ValueTypeError as error:
            raise ValueError(f"{path} ({kind}): {error}") from None

    def _switch(self, path: str, on: Any) -> None:
        try:
            self._player.switch(path, on)
        except ValueTypeError as error:
            raise ValueError(f"{path}: {error}") from None

    def _set_code(self, node: str, text: str) -> None:
        if not self._trust:
            raise ConsentError([code for code in self._player.codes if code.node == node])
        self._player.set_code(node, text)

    def on_change(self, path: str, callback: Callback) -> None:
        """Call `callback(path, value)` after each frame in which an attribute of a node or a prim has got a value.

        Raises:
            KeyError: There is no such attribute.
        """
        self._seen[path, callback] = self._version(path)
        self._callbacks.append((path, callback))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the results so far: time samples in a new layer over the scene, or with it if it is in memory.

        Raises:
            OutputError: The file cannot be written, or is part of the scene.
        """
        frame = self._player.frame
        last = self._player.end if frame is None else max(frame, self._player.start)
        target = os.fspath(path)
        with OutputLayer(target, self._player.stage, self._player.start, last, self._player.fps) as output:
            self._samples.copy_to(output)
            output.commit()

    def close(self) -> None:
        """Release the nodes. Values can be read further, frames cannot be played."""
        self._player.close()

    def _begin(self) -> None:
        if not self._trust and (missing := consent.missing(self._player.codes)):
            raise ConsentError(missing)
        self._samples = SampleLayer()
        self._seen: dict[tuple[str, Callback], int] = {}
        self._player.begin()

    def _attribute(self, path: str) -> Attribute:
        attribute = self._player.loaded.attribute(path)
        if attribute is None:
            raise KeyError(f"{path}: {why_absent(self._player.stage, self._player.loaded, path)}")
        return attribute

    def _typed(self, path: str) -> tuple[AttributeType, Value]:
        attribute = self._player.loaded.attribute(path)
        if attribute is not None:
            return attribute.resolved, attribute.value
        if self._player.has_switch(path):
            return BOOL, self._player.is_on(path)
        return self._of_prim(path, self._player.host.store.look)

    def _version(self, path: str) -> int:
        """A number that grows with each value that an attribute gets. Raises KeyError."""
        attribute = self._player.loaded.attribute(path)
        return attribute.version if attribute is not None else self._of_prim(path, self._player.host.store.version)

    def _of_prim(self, path: str, ask: Callable[[str, str], Any]) -> Any:
        """Ask about an attribute of a prim. Raises KeyError if there is no such one."""
        prim, _, name = path.partition(".")
        if not name:
            raise KeyError(f"{path!r} names no attribute; write it behind a point, as in /World/Mesh.points")
        try:
            return ask(prim, name)
        except GraphError as error:
            raise KeyError(f"{path}: {error}") from None


def _private_view(stage: Usd.Stage, session: Sdf.Layer) -> Usd.Stage:
    """Return a stage of the same layers with a session layer of its own, which takes prims that a play makes."""
    own = Sdf.Layer.CreateAnonymous()
    own.TransferContent(session)
    return Usd.Stage.Open(stage.GetRootLayer(), own, stage.GetPathResolverContext())


def _copied(value: Value) -> Value:
    """Return a value that stays as it is: nodes write into their arrays again in the next frame."""
    return value.copy() if isinstance(value, np.ndarray) else value
