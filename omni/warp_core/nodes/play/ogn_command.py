"""`omni-warp ogn`: check, docs and test, with their output. Each returns whether all nodes are right."""

from __future__ import annotations

from pathlib import Path

from ..extensions import node_check, node_folders, node_pages
from ..ogn.ogn_spec import NodeSpec, OgnError
from ..scene.visible_text import harmless
from ..stock import node_registry
from . import node_tests


def check(folder: str) -> bool:
    """Print the problems of each node below `folder`. Raises OgnError if it has none."""
    findings = list(node_check.check(Path(folder)))
    wrong = [finding for finding in findings if finding.problems]
    for finding in findings:
        _say(f"{'wrong' if finding.problems else 'ok':<7} {finding.path}  {finding.name}")
        for problem in finding.problems:
            _say(f"        {problem}")
    _say(f"{len(findings)} node{'s' * (len(findings) != 1)}, {len(wrong)} with mistakes")
    return not wrong


def docs(folder: str, output: str) -> bool:
    """Write the pages of all nodes below `folder` into `output`. Raises OgnError and OSError."""
    specs: list[NodeSpec] = []
    wrong = 0
    for file in node_folders.find(Path(folder)):
        try:
            specs.append(file.read())
        except OgnError as error:
            wrong += 1
            _say(str(error))
    paths = node_pages.write_pages(specs, Path(output))
    _say(f"wrote {len(paths)} pages to {output}")
    return not wrong


def test(folder: str) -> bool:
    """Run the tests of all nodes below `folder`, and so their code. Raises OgnError if there are no nodes."""
    wrong: list[str] = []

    def complain(where: str, text: str) -> None:
        wrong.append(where)
        _say(f"wrong   {where}: {text}")

    registry = node_registry.standard()
    known = {spec.name for spec in node_folders.add_folder(registry, Path(folder), complain)}
    counts = {"ok": 0, "failed": 0, "skipped": 0}
    for file in node_folders.find(Path(folder)):
        for result in _results(file, registry, known):
            word = "skipped" if result.skipped else "failed" if result.failures else "ok"
            counts[word] += 1
            _say(f"{word:<7} {result.node}, {result.test}" + (f": {result.skipped}" if result.skipped else ""))
            for failure in result.failures:
                _say(f"        {failure}")
    _say(", ".join(f"{number} {word}" for word, number in counts.items()))
    return not wrong and not counts["failed"]


def _results(file: node_folders.NodeFile, registry: node_registry.Registry, known: set[str]) -> list[node_tests.Result]:
    try:
        name = file.read().name
        return list(node_tests.run_tests(file, registry)) if name in known else []
    except OgnError:
        return []  # told when the folder was added


def _say(text: str) -> None:
    print(harmless(text))
