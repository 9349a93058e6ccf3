"""Groups of nodes that run one after the other and may run as one: a node class can make a chain of them.

The hook `chain(nodes, databases)` of a class returns an object with `nodes`. Its `replay()` runs all of them, or
returns False. `learn()` is called after they have run one by one, and returns the chains to go on with. `finish()` ends
it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from .database import Database
from .node_graph import Node

Group = tuple[list[Node], Any]  # nodes in the order in which they run, and their chain or None
Databases = Mapping[Node, Database]


def maker(node: Node) -> Callable | None:
    """Return the hook that makes a chain with this node; None without such a hook."""
    return node.type.hook("chain") if node.type and not node.disabled and node.host.replays else None


def in_order(order: Sequence[Node], databases: Databases) -> list[Group]:
    """Group the nodes of an order by their chains."""
    groups: list[tuple[list[Node], Any]] = []
    for node in order:
        make = maker(node)
        if make and groups and groups[-1][1] is make:
            groups[-1][0].append(node)
        else:
            groups.append(([node], make))
    return [(nodes, make(nodes, databases.__getitem__) if make else None) for nodes, make in groups]


def learned(nodes: list[Node], chain: Any) -> list[Group]:
    """Return the groups to go on with after nodes have run one by one."""
    return [(nodes, None)] if chain is None else [(part.nodes, part) for part in chain.learn()]


def replayed(chain: Any) -> bool:
    """Run all nodes of a chain as one; they share the time. Returns False if they have to run one by one."""
    if not chain.is_ready:
        return False
    observers = chain.nodes[0].host.observers
    for observer in observers:
        observer.begin(chain.nodes)
    started = time.perf_counter()
    try:
        if not chain.replay():
            return False
        share = (time.perf_counter() - started) * 1e3 / len(chain.nodes)
        for node in chain.nodes:
            node.timing.wall_ms += share
        return True
    finally:
        for observer in reversed(observers):
            observer.end(chain.nodes)


def divided(nodes: list[Node], chain: Any, flags: Sequence[bool]) -> list[Group]:
    """Divide a group where a flag differs from the one before."""
    if chain is None:
        return [(nodes, None)]
    cuts = [0, *(i for i in range(1, len(flags)) if flags[i] != flags[i - 1]), len(flags)]
    parts = [slice(a, b) for a, b in pairwise(cuts)]
    return [(part.nodes, part) for part in chain.divided(parts)]


def finish(groups: Sequence[Group]) -> None:
    """Let all chains account for their costs."""
    for _, chain in groups:
        if chain is not None:
            chain.finish()
