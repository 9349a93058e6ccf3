"""Runs each implementation in a process of its own, behind a pipe. A question is a method of its worker with arguments,
and an answer is what the method returns. Each is a line of JSON.

A benchmark calls `serve` where it is run with `--serve`, and asks `Contender`s.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).resolve().parents[1]
ROOT = BENCHMARKS.parent


class WorkerError(Exception):
    """A worker could not answer; says why."""


class Contender:
    """A worker process. `arguments` are those of `script` that make it serve."""

    def __init__(self, python: str, script: str, *arguments: object, **environment: str) -> None:
        command = [python, str(Path(script).resolve()), *map(str, arguments)]
        variables = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{BENCHMARKS}", **environment}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=variables
        )

    def ask(self, method: str, *arguments: Any, within: float | None = None, **named: Any) -> Any:
        """What a method of the worker returns. `within` so many seconds, or the process is ended.

        Raises:
            WorkerError: it raised, or the process has ended.
        """
        assert self.process.stdin and self.process.stdout
        try:
            print(json.dumps([method, arguments, named]), file=self.process.stdin, flush=True)
            if within is not None and not select.select([self.process.stdout], [], [], within)[0]:
                self.process.kill()
                self.close()
                raise WorkerError(f"no answer within {within:.0f} s")
            answer = json.loads(self.process.stdout.readline() or '{"error": "the process ended"}')
        except BrokenPipeError:
            raise WorkerError("the process ended") from None
        if "error" in answer:
            raise WorkerError(answer["error"])
        return answer["value"]

    def close(self) -> None:
        self.process.terminate()
        with self.process:  # closes the pipes and waits
            pass


def serve(make: Callable[..., Any], *arguments: Any) -> None:
    """Make a worker of `arguments` and answer questions from standard input until it ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not land among the answers
    worker = make(*arguments)
    for line in sys.stdin:
        print(json.dumps(_answer(worker, *json.loads(line))), file=answers, flush=True)


def _answer(worker: Any, method: str, arguments: list[Any], named: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"value": getattr(worker, method)(*arguments, **named)}
    except Exception as why:
        traceback.print_exc()
        return {"error": f"{type(why).__name__}: {why}".splitlines()[0]}
