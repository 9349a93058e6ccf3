"""The timeline: which frame is wanted, and how it goes on while the scene plays."""

from __future__ import annotations

from dataclasses import dataclass

SPEEDS = (0.05, 16.0)


@dataclass
class Playback:
    """The range of frames, the wanted one (`target`), and when the next one is due. Times are in seconds."""

    start: int = 1
    end: int = 1
    fps: float = 24.0
    target: int = 1
    playing: bool = False
    loop: bool = True
    speed: float = 1.0
    due: float = 0.0
    is_open: bool = False

    def open(self, start: int, end: int, fps: float) -> None:
        """Take the range of a scene: want its first frame, or still the wanted one if it was open before."""
        self.start, self.end, self.fps = start, end, fps
        self.seek(self.target if self.is_open else start)
        self.is_open = True

    def seek(self, frame: int) -> None:
        """Want a frame, the nearest one in the range."""
        self.target = max(self.start, min(self.end, frame))

    def play(self, now: float) -> None:
        """Go on from the wanted frame, or from the first one at the end."""
        self.playing, self.due = True, now
        if self.target >= self.end:
            self.target = self.start

    def set(self, loop: bool, speed: float) -> None:
        """Take how to play."""
        self.loop, self.speed = loop, max(SPEEDS[0], min(SPEEDS[1], speed))

    def advance(self, now: float) -> None:
        """Want the next frame; playing ends at the last one without a loop."""
        self.due = max(self.due + 1.0 / (self.fps * self.speed), now)
        if self.target < self.end:
            self.target += 1
        elif self.loop:
            self.target = self.start
        else:
            self.playing = False
