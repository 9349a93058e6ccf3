"""Where the boxes of a graph go: in layers from left to right, ordered so that few edges cross.

The method is that of Sugiyama, Tagawa and Toda, "Methods for Visual Understanding of Hierarchical System Structures"
(1981). Ranks by longest paths, order in each rank by the mean place of neighbours, coordinates by least squares with
the boxes kept apart. Start with `layered`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

Point = tuple[float, float]
Link = tuple[Hashable, Hashable]
_SWEEPS = 8
_ROUTE = 12.0  # the height that an edge takes where it passes a layer


@dataclass
class Placed:
    """Boxes and edges with coordinates. `corners` has the upper left of each box, `routes` points between its ends."""

    corners: dict[Hashable, Point] = field(default_factory=dict)
    routes: dict[Link, list[Point]] = field(default_factory=dict)
    width: float = 0.0
    height: float = 0.0


def layered(
    sizes: dict[Hashable, Point], links: Sequence[Link], between_layers: float = 48.0, between_boxes: float = 16.0
) -> Placed:
    """Place boxes of these (width, height); links go from left to right, apart from those that would close a circle."""
    ranks = _ranks(list(sizes), links)
    chains, steps = _chains(ranks, links)
    layers: list[list[Hashable]] = [[] for _ in range(max(ranks.values(), default=-1) + 1)]
    for item, rank in ranks.items():
        layers[rank].append(item)
    befores: dict[Hashable, list[Hashable]] = {}
    afters: dict[Hashable, list[Hashable]] = {}
    for a, b in steps:
        befores.setdefault(b, []).append(a)
        afters.setdefault(a, []).append(b)
    for i in range(_SWEEPS):
        _sweep(layers if i % 2 == 0 else layers[::-1], befores if i % 2 == 0 else afters)
    heights = {item: sizes[item][1] if item in sizes else _ROUTE for item in ranks}
    middles = _middles(layers, befores, afters, heights, between_boxes)
    placed = Placed()
    top = min((middles[i] - heights[i] / 2 for i in ranks), default=0.0)
    centers: dict[Hashable, Point] = {}
    for layer in layers:
        wide = max((sizes[i][0] for i in layer if i in sizes), default=0.0)
        for item in layer:
            centers[item] = placed.width + wide / 2, middles[item] - top
            if item in sizes:
                placed.corners[item] = (
                    placed.width + (wide - sizes[item][0]) / 2,
                    middles[item] - heights[item] / 2 - top,
                )
        placed.width += wide + between_layers
    placed.width = max(0.0, placed.width - between_layers)
    placed.height = max((middles[i] + heights[i] / 2 - top for i in ranks), default=0.0)
    placed.routes = {link: [centers[point] for point in chain] for link, chain in chains.items()}
    return placed


def _ranks(items: list[Hashable], links: Sequence[Link]) -> dict[Hashable, int]:
    """The layer of each box: one after the last of those before it. Links that close a circle do not count."""
    before: dict[Hashable, list[Hashable]] = {item: [] for item in items}
    after: dict[Hashable, list[Hashable]] = {item: [] for item in items}
    for a, b in links:
        before[b].append(a)
        after[a].append(b)
    ranks: dict[Hashable, int] = {}
    left = {item: len(before[item]) for item in items}
    waiting = list(items)
    while waiting:
        ready = [item for item in waiting if left[item] == 0] or waiting[:1]
        for item in ready:
            ranks[item] = max((ranks[b] + 1 for b in before[item] if b in ranks), default=0)
            for other in after[item]:
                left[other] -= 1
        waiting = [item for item in waiting if item not in ranks]
    for item in items:  # what nothing leads to stands right before what it leads to
        later = [ranks[b] for b in after[item] if ranks[b] > ranks[item]]
        if not before[item] and later:
            ranks[item] = min(later) - 1
    return ranks


def _chains(ranks: dict[Hashable, int], links: Sequence[Link]) -> tuple[dict[Link, list[Hashable]], list[Link]]:
    """For links over several layers, points in those between, which join `ranks`; and all links of adjacent layers."""
    chains: dict[Link, list[Hashable]] = {}
    steps: list[Link] = []
    for a, b in dict.fromkeys(links):
        if ranks[a] >= ranks[b]:
            continue
        chain: list[Hashable] = [(a, b, rank) for rank in range(ranks[a] + 1, ranks[b])]
        ranks.update({point: ranks[a] + 1 + i for i, point in enumerate(chain)})
        chains[a, b] = chain
        whole = [a, *chain, b]
        steps += list(pairwise(whole))
    return chains, steps


def _sweep(layers: list[list[Hashable]], neighbours: dict[Hashable, list[Hashable]]) -> None:
    """Order each layer by the mean place of the neighbours in the layer before."""
    for earlier, layer in pairwise(layers):
        place = {item: i for i, item in enumerate(earlier)}
        now = {item: float(i) for i, item in enumerate(layer)}

        def mean(item: Hashable, place: dict = place, now: dict = now) -> float:
            found = [place[n] for n in neighbours.get(item, ()) if n in place]
            return sum(found) / len(found) if found else now[item]

        layer.sort(key=mean)


def _middles(
    layers: list[list[Hashable]],
    befores: dict[Hashable, list[Hashable]],
    afters: dict[Hashable, list[Hashable]],
    heights: dict[Hashable, float],
    gap: float,
) -> dict[Hashable, float]:
    """The middle of each box across the layers: near its neighbours, and not over another."""
    middles: dict[Hashable, float] = {}
    for layer in layers:
        y = 0.0
        for item in layer:
            middles[item] = y + heights[item] / 2
            y += heights[item] + gap
    for i in range(_SWEEPS):
        for layer in layers if i % 2 == 0 else layers[::-1]:
            wanted = []
            for item in layer:
                near = [*befores.get(item, ()), *afters.get(item, ())] if i else befores.get(item, ())
                wanted.append(sum(middles[n] for n in near) / len(near) if near else middles[item])
            for item, y in zip(layer, _apart(wanted, [heights[item] for item in layer], gap)):
                middles[item] = y
    return middles


def _apart(wanted: list[float], heights: list[float], gap: float) -> list[float]:
    """Places in this order with room for the heights, as near to the wanted ones as can be in least squares.

    What each may be is its offset from the first plus something that never decreases: isotonic regression, by pooling
    adjacent violators.
    """
    offsets = [0.0]
    for a, b in pairwise(heights):
        offsets.append(offsets[-1] + (a + b) / 2 + gap)
    pools: list[tuple[float, int]] = []  # mean, count
    for want, offset in zip(wanted, offsets):
        mean, count = want - offset, 1
        while pools and pools[-1][0] > mean:
            other, more = pools.pop()
            mean, count = (mean * count + other * more) / (count + more), count + more
        pools.append((mean, count))
    levels = [mean for mean, count in pools for _ in range(count)]
    return [level + offset for level, offset in zip(levels, offsets)]
