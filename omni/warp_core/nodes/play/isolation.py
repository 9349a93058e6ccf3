"""Plays in which a node that crashes, never ends, or takes all memory is switched off, and the others go on.

The play runs in a child process, which writes down the node that it is about to run. If the child ends in a node, the
parent plays the scene again, and lets this node fail from that frame on.
"""

from __future__ import annotations

import signal

from . import child_process

MOST_RESTARTS = 16
NODE_SECONDS = 60.0  # that a node may take in a frame, unless the user sets another time
OUT_OF_BOUNDS = "a kernel may have left the bounds of an array: --debug tells which and where"

Stopped = dict[str, tuple[int, str]]  # node -> the frame from which it fails, and why


def stop_culprit(ending: child_process.Ending, stopped: Stopped, seconds: float) -> str:
    """Add the node that ended a play to those that are switched off.

    Returns:
        What to tell the user; "" if no node is to blame, or too many are.
    """
    found = child_process.node_at_end()
    if ending.returned or ending.interrupted or found is None or len(stopped) >= MOST_RESTARTS:
        return ""
    path, frame = found
    if path in stopped and stopped[path][0] <= frame:
        return ""
    stopped[path] = frame, f"{_why(ending, seconds)} in frame {frame}; it is switched off from there on"
    told = f"{path}: {_why(ending, seconds)} in frame {frame}; the scene plays again, without the node from there on"
    return f"{told}; {OUT_OF_BOUNDS}" if ending.signal in (signal.SIGSEGV, signal.SIGBUS) else told


def _why(ending: child_process.Ending, seconds: float) -> str:
    if ending.late:
        return f"took longer than {seconds:g} s"
    if not ending.signal:
        return f"ended the process with exit code {ending.code}"
    if ending.signal == signal.SIGKILL:
        return "was killed, perhaps because memory ran out,"
    return f"crashed ({signal.Signals(ending.signal).name})"
