"""Python programs at a terminal, for tests of the prompt."""

import os
import pty
import re
import select
import sys
import time


def typed(command, lines, done, seconds=300):
    """What a program shows on its terminal while the lines are typed, one whenever it waits; ends after `done`."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="dumb", PYTHON_HISTORY=os.devnull, PYTHONSTARTUP="", INPUTRC=os.devnull)
        os.execv(sys.executable, [sys.executable, *command])
    shown, waiting, end = "", list(lines), time.monotonic() + seconds
    try:
        while done not in shown and time.monotonic() < end:
            if select.select([terminal], [], [], 0.1)[0]:
                try:
                    shown += os.read(terminal, 4096).decode(errors="replace")
                except OSError:  # it has ended
                    break
            elif waiting and re.search(r"(>>>|\.\.\.|]:|\.\.\.:) ?$", re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\r", "", shown)):
                os.write(terminal, waiting.pop(0).encode() + b"\n")
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)
    return shown
