"""Registers taken apart into columns and put together again, by the masks of the shuffles that are emitted."""

from __future__ import annotations

import re

import pytest

from omni.warp_core.codegen.interleave import Interleaver
from omni.warp_core.codegen.writer import Writer

_SHUFFLE = re.compile(r"shufflevector <\d+ x float> (\S+), <\d+ x float> (\S+), <\d+ x i32> <(.*)>")


class _Shuffles(Writer):
    """Executes what is written. Registers hold one label for each element."""

    def __init__(self, registers: dict[str, list[str | None]]):
        super().__init__()
        self.registers = registers

    def inst(self, text: str) -> str:
        found = _SHUFFLE.fullmatch(text)
        assert found, text
        a, b, mask = found.groups()
        n = len(self.registers[a])
        both = self.registers[a] + self.registers.get(b, [None] * n)
        picks = [index.removeprefix("i32 ") for index in mask.split(", ")]
        name = super().inst(text)
        self.registers[name] = [None if i == "poison" else both[int(i)] for i in picks]
        return name


def _case(n: int, k: int) -> tuple[dict[str, list], dict[str, list]]:
    """The stream of k columns of n lanes, and its columns."""
    memory = [f"{c}.{lane}" for lane in range(n) for c in range(k)]
    stream = {f"%r{i}": memory[i * n : (i + 1) * n] for i in range(k)}
    return stream, {f"%c{c}": [f"{c}.{lane}" for lane in range(n)] for c in range(k)}


@pytest.mark.parametrize("n", [2, 4, 8, 16])
@pytest.mark.parametrize("k", range(1, 13))
def test_split_and_join(n: int, k: int) -> None:
    stream, columns = _case(n, k)
    writer = _Shuffles({**stream, **columns})
    interleaver = Interleaver(writer, n, "float")
    split = interleaver.split(list(stream), range(k))
    assert [writer.registers[r] for r in split] == list(columns.values())
    joined = interleaver.join(list(columns))
    assert [writer.registers[r] for r in joined] == list(stream.values())


@pytest.mark.parametrize(("first", "end"), [(0, 1), (4, 5), (2, 6), (8, 9), (0, 9)])
def test_some_columns(first: int, end: int) -> None:
    stream, columns = _case(16, 9)
    writer = _Shuffles(dict(stream))
    split = Interleaver(writer, 16, "float").split(list(stream), range(first, end))
    assert [writer.registers[r] for r in split] == list(columns.values())[first:end]


@pytest.mark.parametrize(("k", "most"), [(2, 2), (3, 6), (4, 8), (8, 24), (9, 40), (12, 48)])
def test_shuffles_are_few(k: int, most: int) -> None:
    stream, columns = _case(16, k)
    splitter, joiner = _Shuffles(stream), _Shuffles(columns)
    Interleaver(splitter, 16, "float").split(list(stream), range(k))
    Interleaver(joiner, 16, "float").join(list(columns))
    assert len(splitter.lines) <= most
    assert len(joiner.lines) <= most
