"""Line tables: which line of the user's source each instruction belongs to, as LLVM's debug metadata.

The kind is "directives only": profilers show Python lines beside the instructions, and neither LLVM nor ptxas
optimises less for it. What library code was inlined into counts as the line of the call.
"""

from __future__ import annotations

import os

from ..ir.nodes import Function, Loc, user_loc


class Metadata:
    """The numbered nodes of a module; equal nodes are one."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def node(self, text: str) -> str:
        """The reference to a node, such as `!3`."""
        return f"!{self._numbers.setdefault(text, len(self._numbers))}"

    def lines(self) -> list[str]:
        """The module's assembly lines that define the nodes."""
        return [f"!{number} = {text}" for text, number in self._numbers.items()]


class Lines:
    """Debug information of one module, in its metadata."""

    def __init__(self, metadata: Metadata, kernel: Function):
        self.metadata, self.node = metadata, metadata.node
        file = self._file(user_loc(kernel.loc))
        kind = "isOptimized: true, runtimeVersion: 0, emissionKind: DebugDirectivesOnly"
        self.unit = self.node(f'distinct !DICompileUnit(language: DW_LANG_C, file: {file}, producer: "omni", {kind})')
        self.type = self.node(f"!DISubroutineType(types: {self.node('!{}')})")

    def _file(self, loc: Loc | None) -> str:
        folder, name = os.path.split(loc.file if loc is not None else "<kernel>")
        return self.node(f"!DIFile(filename: {_quoted(name)}, directory: {_quoted(folder)})")

    def scope(self, fn: Function, name: str) -> str:
        """The node of a function that is about to be written as `name`."""
        loc = user_loc(fn.loc)
        file, line = self._file(loc), loc.line if loc is not None else 0
        names = f"name: {_quoted(fn.name)}, linkageName: {_quoted(name)}"
        facts = f"scope: {file}, file: {file}, line: {line}, type: {self.type}, unit: {self.unit}"
        return self.node(f"distinct !DISubprogram({names}, {facts}, spFlags: DISPFlagDefinition)")

    def location(self, loc: Loc | None, scope: str) -> str:
        """Return the text to append to an instruction of function `scope` that stands for `loc`."""
        loc = user_loc(loc)
        line, column = (loc.line, loc.col + 1) if loc is not None else (0, 0)
        inside = self.node(f"!DILexicalBlockFile(scope: {scope}, file: {self._file(loc)}, discriminator: 0)")
        return f", !dbg {self.node(f'!DILocation(line: {line}, column: {column}, scope: {inside})')}"

    def named(self) -> list[str]:
        """The module's assembly lines that tell LLVM of the debug information."""
        version = self.node('!{i32 2, !"Debug Info Version", i32 3}')
        return [f"!llvm.dbg.cu = !{{{self.unit}}}", f"!llvm.module.flags = !{{{version}}}"]


def _quoted(text: str) -> str:
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else f"\\{ord(c) & 255:02X}" for c in text) + '"'
