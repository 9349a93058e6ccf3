"""Mutated sample scenes and node descriptions, random graphs of kernels with and without replay, and equal bytes.

`OMNI_WARP_SCENES=0:300` takes more seeds, as `make fuzz` does.
"""

import json
import os
import random
import shutil
from pathlib import Path

import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core.nodes.graph.node_graph import Log
from omni.warp_core.nodes.ogn.ogn_spec import OgnError, from_json
from omni.warp_core.nodes.play.player import Player, Settings
from omni.warp_core.usd.output_layer import SampleLayer
from tests.nodes.kernel.kernel_scenes import READ, kernel
from tests.nodes.test_fuzz import check, mutated

SEEDS = range(*map(int, os.environ.get("OMNI_WARP_SCENES", "0:4").split(":")))
ROOT = Path(__file__).parents[2]
SCENES = sorted((ROOT / "data" / "scenes").glob("*.usda"))
OGN = sorted((ROOT / "ogn").glob("*.ogn"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files that the sample scenes refer to."""
    made = tmp_path_factory.mktemp("mutated")
    for path in (ROOT / "data" / "scenes").iterdir():
        if path.suffix != ".usda":
            shutil.copy(path, made)
    return made


@pytest.mark.parametrize("seed", SEEDS)
def test_mutated_sample_scenes(folder, capsys, seed):
    rng = random.Random(seed)
    scene = folder / "scene.usda"
    for sample in rng.sample(SCENES, 3):
        scene.write_text(mutated(sample.read_text(), rng))
        check(scene, folder, capsys)


@pytest.mark.parametrize("seed", SEEDS)
def test_mutated_descriptions(seed):
    """A description is taken, or refused with a sentence."""
    rng = random.Random(seed)
    for path in OGN:
        text = path.read_text()
        for _ in range(20):
            try:
                assert from_json(mutated_json(text, rng), path.name).attributes is not None
            except OgnError as error:
                assert error.problems and all(error.problems)


ODD = [None, True, -1, 2**70, 1e308, "", "float[9]", "execution", [], [[]], {}, {"type": "any"}, "\ud800", "x" * 5000]


def mutated_json(text, rng):
    """The text with a value replaced, a key removed or doubled, or a piece of it damaged."""
    if rng.random() < 0.3:
        at = rng.randrange(len(text))
        return text[:at] + rng.choice(["", "{", "]", '"', "\x00", "1e999", "[" * 3000]) + text[at + rng.randrange(3) :]
    value = json.loads(text)
    places = [(None, None, value)]
    for _, _, inner in places:
        if isinstance(inner, dict):
            places += [(inner, key, inner[key]) for key in inner]
    holder, key, _ = rng.choice(places[1:])
    if rng.random() < 0.2:
        del holder[key]
    else:
        holder[key if rng.random() < 0.8 else rng.choice(["type", "default", "description", "a b", ""])] = rng.choice(
            ODD
        )
    return json.dumps(value)


STEP = """
@wp.kernel
def k(x: wp.array(dtype=float), time: float, y: wp.array(dtype=float){more}):
    i = wp.tid()
    {body}
"""
KINDS = {  # body, further parameters, further attributes
    "plain": ("y[i] = {a} * x[i] + time", "", ""),
    "gather": ("y[i] = x[(i + {n}) % x.shape[0]] - time", "", ""),
    "private": ("x[i] = x[i] + {a}\n    y[i] = x[i] * 0.5", "", ""),
    "state": ("s[i] = 0.5 * s[i] + x[i]\n    y[i] = s[i]", ", s: wp.array(dtype=float)", "custom float[] state:s\n"),
    "count": ("y[i] = x[i]\n    wp.atomic_add(n, 0, {n})", ", n: wp.array(dtype=int)", "custom int outputs:n\n"),
}


def random_graph(rng, evaluator):
    """Kernel nodes in a row, each reading one of those before or the clock's array, some of them run by an event."""
    nodes = [READ, 'def OmniGraphNode "tick" {\n token node:type = "omni.graph.action.OnPlaybackTick"\n}\n']
    before, last = [], "tick.outputs:tick"
    for number in range(rng.randint(2, 7)):
        body, more, attributes = KINDS[rng.choice(list(KINDS))]
        code = STEP.format(more=more, body=body.format(a=round(rng.uniform(-1, 1), 3), n=rng.randint(1, 5)))
        source = (
            f".connect = </G/{rng.choice(before)}.outputs:y>" if before and rng.random() < 0.85 else " = [1, 2, 3, 4]"
        )
        attributes += f"custom float[] inputs:x{source}\ncustom float[] outputs:y\n"
        attributes += rng.choice(
            ["custom float inputs:time.connect = </G/time.outputs:frame>\n", "custom float inputs:time = 2\n"]
        )
        if evaluator == "execution":
            runs = rng.choice([last, last, "tick.outputs:tick"])
            attributes += f"custom uint inputs:execIn.connect = </G/{runs}>\n"
        nodes.append(kernel(code, attributes, f"k{number}"))
        before.append(f"k{number}")
        last = f"k{number}.outputs:execOut"
    return "".join(nodes), before


@pytest.mark.parametrize("evaluator", ["push", "dirty_push", "execution"])
@pytest.mark.parametrize("seed", SEEDS)
def test_replays_give_what_nodes_give_one_by_one(make_scene, tmp_path, seed, evaluator):
    rng = random.Random(seed)
    text, names = random_graph(rng, evaluator)
    scene = make_scene(text, evaluator=evaluator, frames="0:5")
    found = []
    for isolated in ({}, None):
        player = Player.open(scene, Settings(isolated=isolated), Log(emit=lambda text: None))
        player.begin()
        frames = []
        for _ in range(6):
            player.step(SampleLayer())
            frames.append([np.copy(player.loaded.attribute(f"/G/{name}.outputs:y").value) for name in names])
        player.close()
        assert not player.host.log.errors
        found.append(frames)
    if evaluator != "dirty_push" or "</G/time" in text:  # else nothing changes after the first frame
        assert sum(node.timing.replays for node in player.loaded.nodes()) > 0
    assert [[y.tolist() for y in frame] for frame in found[0]] == [[y.tolist() for y in frame] for frame in found[1]]


@pytest.mark.parametrize("scene", SCENES, ids=lambda path: path.stem)
def test_playing_twice_gives_equal_bytes_with_any_number_of_threads(scene, tmp_path):
    results, before = [], wp.config.num_threads
    try:
        for name, threads in (("a", 1), ("b", 2)):
            wp.config.num_threads = threads
            target = tmp_path / name / "out.usda"
            target.parent.mkdir()
            Player.open(str(scene), Settings(frames=(0, 1)), Log(emit=lambda text: None)).run(str(target))
            results.append(target.read_bytes())
    finally:
        wp.config.num_threads = before
    assert len(results[0]) > 500 and results[0] == results[1]
