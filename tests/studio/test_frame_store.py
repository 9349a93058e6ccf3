"""Frames on their way to pages: each shows what the engine had at that frame, whatever it has missed."""

import random

import numpy as np
import pytest

from omni.warp_core.studio.frame_store import FrameStore, View
from omni.warp_core.studio.records import blob, unpack

PRIMS = [f"/World/P{number}" for number in range(6)]


class Engine:
    """The truth at each frame, and what it sends: the difference to the frame that it sent before."""

    def __init__(self, rng):
        self.rng, self.told = rng, None
        self.prims, self.arrays, self.matrices = [], {}, {}

    def step(self, number):
        rng = self.rng
        prims = self.prims if rng.random() < 0.6 and self.prims else rng.sample(PRIMS, rng.randint(1, 6))
        changed = {p for p in prims if p not in self.arrays or rng.random() < 0.2}
        moved = {p for p in prims if p not in self.matrices or rng.random() < 0.2}
        self.arrays = {p: rng.random() if p in changed else self.arrays[p] for p in prims}
        self.matrices = {p: [rng.random()] if p in moved else self.matrices[p] for p in prims}
        told, self.prims = self.prims, prims
        header = {"frame": number, "exact": True, "matrices": {p: self.matrices[p] for p in sorted(moved)}}
        header |= {} if prims == told else {"prims": prims}
        return header, [blob(f"{p}\npoints", np.array([self.arrays[p]])) for p in sorted(changed)]

    @property
    def truth(self):
        return set(self.prims), dict(self.arrays), dict(self.matrices)


class Page:
    """What a page makes of the records."""

    def __init__(self):
        self.view, self.prims, self.arrays, self.matrices = View(), set(), {}, {}

    def show(self, frame):
        header, blobs = unpack(self.view.record(frame, {}))
        for each in blobs:
            self.arrays[each.key.partition("\n")[0]] = np.frombuffer(each.data, each.dtype)[0]
        self.matrices |= header["matrices"]
        self.prims = set(header.get("prims", self.prims))
        for kept in (self.arrays, self.matrices):
            for path in kept.keys() - self.prims:
                del kept[path]
        return header, blobs

    @property
    def shown(self):
        return self.prims, self.arrays, self.matrices


@pytest.mark.parametrize("seed", range(30))
def test_pages_show_what_the_engine_had(seed):
    rng = random.Random(seed)
    store, engine, pages = FrameStore(), Engine(rng), [Page(), Page()]
    truths, number = {}, 0
    for _ in range(120):
        action = rng.random()
        if action < 0.6 or not truths:
            number += 1
            frame = store.add(*engine.step(number))
            truths[number] = engine.truth
        elif action < 0.9:
            frame = store.get(rng.choice(list(truths)))
            store.newest = frame
        elif action < 0.95:
            store.clear()
            truths = {}
            continue
        else:
            store.restart()
            engine, truths = Engine(rng), {}
            continue
        for page in pages:
            if rng.random() < 0.7:
                page.show(frame)
                assert page.shown == truths[frame.number]


def test_a_frame_in_which_nothing_changes_is_short_however_many_prims_there_are():
    store, page, few = FrameStore(), Page(), 300
    names = [f"/World/P{number}" for number in range(10_000)]
    header = {"frame": 1, "exact": True, "prims": names, "matrices": {name: [1.0] for name in names}}
    page.show(store.add(header, [blob(f"{name}\npoints", np.zeros(3)) for name in names]))
    frame = store.add({"frame": 2, "exact": True, "matrices": {}}, [blob(f"{names[7]}\npoints", np.ones(3))])
    header, blobs = page.show(frame)
    assert "prims" not in header and header["matrices"] == {} and [b.key for b in blobs] == [f"{names[7]}\npoints"]
    assert len(View.record(page.view, frame, {})) < few
    assert page.arrays[names[7]] == 1.0 and len(page.arrays) == 10_000
