"""Pictures and animations of a stage or of a volume file, as image files that appear whole or not at all."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from time import monotonic

import numpy as np
from PIL import Image
from pxr import Usd

from ...devices.progress import Bar
from ...files import Unfinished
from ..stage import (
    READ_ERRORS,
    StageError,
    frame_range,
    frame_rate,
    open_stage,
    quiet,
    reason,
    time_code_rate,
    unraised_errors,
)
from ..volume_fields import stage_of_volumes
from .camera import View, fitted, stage_view, up_axis
from .drawables import Drawable, Gatherer
from .render import Renderer

STILLS = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp")
MOVIES = (".gif", ".webp")
VOLUMES = (".vdb", ".nvdb")
MOST_PIXELS = 1 << 30  # of an animation, each of three bytes


class RequestError(ValueError):
    """A picture that cannot be made as asked."""


@dataclass
class Request:
    """The picture to draw: `frame` (None: the first of the stage) or `frames`, at `size` (width, height) in pixels.

    `stage` is a file of USD, one of volumes, or a stage. Drawing the volumes of a frame may take `seconds`; 0 sets no
    limit.
    """

    stage: str | Usd.Stage
    output: str
    frame: float | None = None
    frames: tuple[int, int] | None = None
    size: tuple[int, int] = (960, 540)
    camera: str | None = None
    seconds: float = 0.0

    @property
    def name(self) -> str:
        """The name of the stage, for messages."""
        return self.stage if isinstance(self.stage, str) else self.stage.GetRootLayer().identifier


def preview(
    request: Request,
    opened: Callable[[], None] = lambda: None,
    warn: Callable[[str], None] = lambda text: None,
    reading: Callable[[], AbstractContextManager] = nullcontext,
) -> str:
    """Draw what is asked for and return a description of it.

    `opened` is called as soon as the stage is open. `warn` gets a text about layers and frames that the stage lacks,
    and about each prim that cannot be drawn. `reading` gives the context in which the stage is read.

    Raises StageError when the stage cannot be used, RequestError for a wrong request, OSError when the file cannot be
    written.
    """
    with quiet():
        return _preview(request, opened, warn, reading)


def _preview(
    request: Request,
    opened: Callable[[], None],
    warn: Callable[[str], None],
    reading: Callable[[], AbstractContextManager],
) -> str:
    extension = os.path.splitext(request.output)[1].lower()
    known = MOVIES if request.frames else STILLS
    if extension not in known:
        kind = "an animation" if request.frames else "a picture"
        hint = "; --frames A:B draws an animation" if extension in MOVIES and not request.frames else ""
        raise RequestError(f"{request.output}: the name of {kind} must end in one of {', '.join(known)}{hint}")
    _require_few(request)
    with reading():
        stage = _stage(request.stage, warn)
    opened()
    artist = _Artist(stage, request, reading, warn)
    if request.frames is None:
        frame = _first_frame(stage) if request.frame is None else request.frame
        _check_frames(stage, frame, frame, warn)
        _save(request.output, extension, [artist.draw(frame)], 0)
        return f"frame {frame:g}, {artist.described}"
    first, last = request.frames
    rate = frame_rate(stage)
    _check_frames(stage, first, last, warn)
    pictures = [artist.draw(frame) for frame in range(first, last + 1)]
    _save(request.output, extension, pictures, rate)
    return f"{len(pictures)} frames at {rate:g} per second, {artist.described}"


def _stage(given: str | Usd.Stage, warn: Callable[[str], None]) -> Usd.Stage:
    if isinstance(given, Usd.Stage):
        return given
    if given.lower().endswith(VOLUMES):
        return stage_of_volumes(given)
    opened = open_stage(given)
    for complaint in opened.warnings:
        warn(complaint)
    return opened.stage


def _require_few(request: Request) -> None:
    """Raise RequestError for an animation that does not fit into memory, where its pictures wait to be saved."""
    first, last = request.frames or (0, 0)
    width, height = request.size
    pixels = (last - first + 1) * width * height
    if pixels > MOST_PIXELS:
        raise RequestError(
            f"{last - first + 1} pictures of {width}x{height} have {pixels} pixels, and an animation at most "
            f"{MOST_PIXELS}; draw fewer or smaller ones: --frames A:B, --size WxH"
        )


def _first_frame(stage: Usd.Stage) -> float:
    """Return the start time code of a stage, 0 if it has none. Raises StageError where it is NaN or far away."""
    frame_range(stage, time_code_rate(stage))
    return stage.GetStartTimeCode()


def _check_frames(stage: Usd.Stage, first: float, last: float, warn: Callable[[str], None]) -> None:
    """Warn of frames outside of the range of a stage; drawing counts frames in time codes."""
    if not stage.HasAuthoredTimeCodeRange():
        return
    start, end = stage.GetStartTimeCode(), stage.GetEndTimeCode()
    outside = next((frame for frame in (first, last) if not start <= frame <= end), None)
    if outside is not None:
        warn(
            f"frame {outside:g} is outside of the stage's frames {start:g}:{end:g}; the picture shows the nearest time "
            "samples"
        )


class _Artist:
    """Draws frames of one stage."""

    def __init__(
        self,
        stage: Usd.Stage,
        request: Request,
        reading: Callable[[], AbstractContextManager],
        warn: Callable[[str], None],
    ):
        self.stage, self.request, self.reading = stage, request, reading
        self.gatherer = Gatherer(stage, warn)
        self.renderer = Renderer(*request.size, up_axis(stage))
        self.described = ""
        self._fitted: object = None

    def draw(self, frame: float) -> np.ndarray:
        time = Usd.TimeCode(frame)
        with self._read_errors(frame), self.reading():
            scene = self.gatherer.at(time)
        if scene.is_empty:
            raise StageError(
                f"{self.request.name}: has no visible meshes, shapes, curves, points or volumes at frame {frame:g}"
            )
        width, height = self.request.size
        count = len(scene.volumes)
        volumes = f"{count} grid{'s' * (count != 1)}, " if count else ""
        self.described = f"{len(scene.triangles)} triangles, {len(scene.points)} points, {volumes}{width}x{height}"
        with self._read_errors(frame):
            view = self._view(time, scene, width / height)
        return self._drawn(frame, scene, view)

    def _drawn(self, frame: float, scene: Drawable, view: View) -> np.ndarray:
        """Draw within the time that volumes may take, and show progress. Raises StageError."""
        end = monotonic() + self.request.seconds if self.request.seconds else float("inf")
        with Bar("drawing volumes", self.renderer.count_ticks(scene)) as bar:

            def tick() -> None:
                bar.advance()
                if monotonic() > end:
                    raise StageError(
                        f"{self.request.name}: drawing the volumes of frame {frame:g} takes longer than "
                        f"{self.request.seconds:.0f} s; --trust sets no limit, --size WxH draws a smaller picture"
                    )

            return self.renderer.draw(scene, view, tick)

    @contextmanager
    def _read_errors(self, frame: float) -> Iterator[None]:
        where = f"{self.request.name}: cannot be read at frame {frame:g}"
        with unraised_errors() as errors:
            try:
                yield
            except READ_ERRORS as error:
                raise StageError(f"{where}: {reason(error)}") from None
        if errors:
            raise StageError(f"{where}: {reason(errors[0])}")

    def _view(self, time: Usd.TimeCode, scene: Drawable, aspect: float):
        view = stage_view(self.stage, time, aspect, self.request.camera)
        if view is not None:
            return view
        if self._fitted is None:  # fitted to the first frame, or the camera would follow what moves
            self._fitted = fitted(*scene.bounds, up_axis(self.stage), aspect)
        return self._fitted


def _save(path: str, extension: str, pictures: list[np.ndarray], rate: float) -> None:
    images = [Image.fromarray(p) for p in pictures]
    with Unfinished(path) as unfinished:
        if len(images) == 1 and not rate:
            images[0].save(unfinished.path)
        else:
            if extension == ".gif":
                images = _with_one_palette(images)
            duration = max(20, round(1000 / rate / 10) * 10)  # GIF counts hundredths of a second
            try:
                images[0].save(unfinished.path, save_all=True, append_images=images[1:], duration=duration, loop=0)
            except (OverflowError, RuntimeError, struct.error):  # of GIF, whose equal pictures become one, and of WebP
                raise RequestError(f"{path}: a picture stays for longer than {extension[1:].upper()} can say") from None
        unfinished.commit()


def _with_one_palette(images: list[Image.Image]) -> list[Image.Image]:
    """The pictures in 256 colours that suit all of them, so that still parts do not flicker."""
    chosen = images[:: max(1, len(images) // 6)]
    sheet = Image.new("RGB", (images[0].width, images[0].height * len(chosen)))
    for i, image in enumerate(chosen):
        sheet.paste(image, (0, i * image.height))
    palette = sheet.quantize(256, method=Image.Quantize.MEDIANCUT)
    return [image.quantize(palette=palette, dither=Image.Dither.FLOYDSTEINBERG) for image in images]
