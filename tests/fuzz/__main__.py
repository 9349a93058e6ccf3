"""Compiles mutated kernels of the test-suite and keeps those that the compiler cannot cope with.

    python -m tests.fuzz --seconds 600 --seed 1        also `make fuzz`

Each kind of failure is written once, as a module without what does not matter to it, to build/fuzz. When it is fixed,
what is left of it goes into a test.
"""

from __future__ import annotations

import argparse
import ast
import collections
import re
import time
from collections.abc import Callable
from pathlib import Path

from .corpus import modules
from .judge import Verdict, isolated, verdict
from .mutate import Mutator

OUT = Path(__file__).resolve().parents[2] / "build" / "fuzz"
ATTEMPTS = 300


def signature(v: Verdict) -> str:
    """What tells one failure from another: numbers and names of values vary."""
    return re.sub(r"[`'\"%].*|\d+(?=\D*$)", "", v.why)[:80] if v.kind == "bad" else ""


def minimised(text: str, judge: Callable[[str], Verdict]) -> str:
    """A smaller module that fails in the same way: statements are taken away, then expressions replaced by parts."""
    wanted = signature(judge(text))
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return text
    attempts = 0
    progress = True
    while progress and attempts < ATTEMPTS:
        progress = False
        for body in [getattr(n, f, None) for n in ast.walk(tree) for f in ("body", "orelse")]:
            for at in reversed(range(len(body))) if isinstance(body, list) else ():
                kept, attempts = body[at], attempts + 1
                inner = [s for f in ("body", "orelse") for s in getattr(kept, f, [])]
                body[at : at + 1] = inner if inner and not isinstance(kept, ast.FunctionDef) else []
                if body and attempts < ATTEMPTS and signature(judge(ast.unparse(tree) + "\n")) == wanted:
                    progress = True
                    break
                body[at : at + (len(inner) if inner and not isinstance(kept, ast.FunctionDef) else 0)] = [kept]
    return ast.unparse(tree) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the mutations (default: the time)")
    parser.add_argument("--seconds", type=float, default=600, help="how long to go on")
    parser.add_argument("--limit", type=int, default=20, help="CPU seconds that one module may take")
    options = parser.parse_args()
    judged = [(text, verdict(text).kind) for text in modules()]  # which fills the caches too
    texts = [text for text, kind in judged if kind == "compiled"]
    texts += [text for text, kind in judged if kind == "refused"][::3]
    mutator = Mutator(texts, options.seed)
    counts: collections.Counter[str] = collections.Counter()
    failures: collections.Counter[str] = collections.Counter()
    print(f"{len(texts)} modules, seed {options.seed}", flush=True)
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        text = mutator.case()
        found = isolated(text, options.limit)
        counts[found.kind] += 1
        if found.kind == "bad":
            failures[signature(found)] += 1
            if failures[signature(found)] == 1:
                OUT.mkdir(parents=True, exist_ok=True)
                path = OUT / f"{options.seed}-{sum(counts.values())}.py"
                small = minimised(text, lambda t: isolated(t, options.limit))
                path.write_text(f"# {found.why!a}\n{small}", errors="backslashreplace")
                print(f"{path}: {found.why!a}", flush=True)
    print(", ".join(f"{kind} {n}" for kind, n in sorted(counts.items())))
    for why, n in failures.most_common():
        print(f"{n:6} {why!a}")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
