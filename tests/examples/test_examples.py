"""The examples run small: the loss falls, the gradient at the start is that of central differences, pictures appear."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import omni.warp_core as wp

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))

import beam  # noqa: E402
import burgers  # noqa: E402
import heat  # noqa: E402
import million  # noqa: E402
import net  # noqa: E402
import raycast  # noqa: E402
import terrain  # noqa: E402
import throw  # noqa: E402


def disc(size=16):
    y, x = np.mgrid[:size, :size] - size / 2
    return (x * x + y * y < size).astype(np.float32)


def gradient(problem):
    """The gradient of a problem's loss by its parameters, as one row."""
    tape = wp.Tape()
    with tape:
        problem.run()
    tape.backward(problem.loss)
    return problem.parameters.grad.numpy().astype(float).ravel()


def slope(problem, direction, h, loss):
    """The derivative of the loss in a direction, from central differences."""
    first = problem.parameters.numpy().copy()
    found = []
    for sign in (1, -1):
        problem.parameters.assign((first.ravel() + sign * h * direction).astype(first.dtype).reshape(first.shape))
        problem.run()
        found.append(loss(problem))
    problem.parameters.assign(first)
    return (found[0] - found[1]) / (2 * h)


def told(problem):
    return float(problem.loss.numpy()[0])


def summed(scene):
    """The loss of the ray caster in float64."""
    return float(np.mean((scene.picture.numpy().astype(float) - scene.given.numpy()) ** 2))


PROBLEMS = {
    # name: problem, step of the differences, tolerance beside the length of the gradient
    "throw": (throw.Throw, 1e-2, 1e-3, told),
    "heat": (lambda: heat.Heat(disc(), 20), 3e-2, 2e-3, told),
    "net": (net.Net, 1e-2, 2e-3, told),
    # Outlines are steep: with larger steps, pixels go from covered to not covered.
    "raycast": (lambda: raycast.Scene(48), 1e-4, 3e-2, summed),
    "terrain": (lambda: terrain.Land(terrain.mountains(12), 3000), 1e-3, 2e-3, told),
    "million": (lambda: million.String(2000, budget=16 * 1024), 1e-7, 1e-5, told),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_gradients_are_those_of_central_differences(name):
    make, h, tolerance, loss = PROBLEMS[name]
    problem = make()
    found = gradient(problem)
    length = np.linalg.norm(found)
    rng = np.random.default_rng(1)
    directions = [found / length, *(d / np.linalg.norm(d) for d in rng.normal(size=(3, len(found))))]
    for direction in directions:
        assert abs(slope(problem, direction, h, loss) - found @ direction) <= tolerance * length


@pytest.mark.parametrize(
    ("fit", "factor"),
    [
        (lambda: throw.fit(throw.Throw(), 80)[0], 1e4),
        (lambda: heat.fit(heat.Heat(disc(), 20), 60), 500),
        (lambda: net.fit(net.Net(), 12)[0], 20),
        (lambda: raycast.fit(raycast.Scene(), 220)[0], 20),
        (lambda: terrain.fit(terrain.Land(terrain.mountains(12), 2000), 60)[0], 200),
    ],
    ids=["throw", "heat", "net", "raycast", "terrain"],
)
def test_losses_fall(fit, factor):
    losses = fit()
    assert losses[-1] * factor < losses[0]


def test_a_long_string_runs_in_its_budget():
    """Snapshots take what they may, and each step runs few times."""
    string = million.String(5000, budget=40 * 2 * 8 * million.CELLS)
    gradient(string)
    assert string.runs < 4.0 * string.steps


def test_the_gradient_of_a_string_does_not_depend_on_the_budget():
    few, many = (gradient(million.String(700, budget)) for budget in (4 * 1024, 1 << 20))
    assert np.array_equal(few, many)


def test_a_beam_bends_as_theory_says():
    """Bending of a slender beam in plane strain, and the shear of a rectangle."""
    stiffness = 4.0 * beam.MU * (beam.MU + beam.LAMBDA) / (2.0 * beam.MU + beam.LAMBDA)
    bending = beam.WEIGHT * beam.LENGTH**4 / (8.0 * stiffness * beam.HEIGHT**3 / 12.0)
    shear = beam.WEIGHT * beam.LENGTH**2 / (2.0 * 5.0 / 6.0 * beam.MU)
    displacement = beam.bend(16)
    assert displacement.dof_values.numpy()[:, 1].min() == pytest.approx(-bending - shear, rel=0.03)
    strength = beam.stresses(displacement)
    assert strength.min() >= 0.0 and strength[2, 0] > 3.0 * strength[2, 2]


def test_the_picture_of_a_beam(tmp_path):
    assert beam.main(str(tmp_path / "beam.png")) < 0.0
    assert 5_000 < (tmp_path / "beam.png").stat().st_size < 200_000


def test_a_wave_is_where_its_heights_lead():
    """Errors before the shock shrink faster than cells; where slopes are limited, not as their squares."""
    errors = []
    for cells in (16, 32, 64):
        wave = burgers.Wave(cells)
        wave.run(0.05)
        middles = (np.arange(cells) + 0.5) / cells
        errors.append(np.abs(np.diag(wave.means()) - burgers.heights(middles, 0.05)).mean())
    assert errors[0] > 2.2 * errors[1] and errors[1] > 2.5 * errors[2] and errors[2] < 2e-3


def test_a_shock_is_where_the_wave_keeps_its_area():
    """Along the diagonal, the wave is a line that ends where the area below it is what it was."""
    cells = 48
    wave = burgers.Wave(cells)
    before = wave.means()
    wave.run(0.4)
    means = wave.means()
    assert means.sum() == pytest.approx(before.sum(), rel=1e-5)
    assert means.min() > -1e-3 and means.max() < 1.0
    starts = np.linspace(0.0, burgers.MIDDLE, 10_001)
    found = burgers.heights(starts, 0.0)
    ends = starts + 0.4 * found
    area = np.concatenate([[0.0], np.cumsum((found[1:] + found[:-1]) / 2.0 * np.diff(ends))])
    shock = np.interp(np.diag(before).sum() / cells, area, ends)
    along = np.diag(means)
    at = np.flatnonzero(along > 0.5 * along.max()).max()
    assert abs((at + 1.0) / cells - shock) < 1.5 / cells


def test_the_picture_of_a_wave(tmp_path):
    assert abs(burgers.main(str(tmp_path / "burgers.png"), cells=24)) < 1e-4
    assert 5_000 < (tmp_path / "burgers.png").stat().st_size < 200_000


@pytest.mark.parametrize("name", ["throw", "heat", "net", "raycast", "terrain", "million"])
def test_pictures(name, tmp_path, monkeypatch):
    file = tmp_path / f"{name}.{'jpg' if name == 'terrain' else 'png'}"
    program = globals()[name]
    program.main(2000, str(file)) if name == "million" else program.main(str(file), 3)
    assert 5_000 < file.stat().st_size < 100_000


def test_examples_run_as_programs(tmp_path):
    ran = subprocess.run(
        [sys.executable, str(EXAMPLES / "throw.py"), str(tmp_path / "throw.png")],
        env={"PYTHONPATH": str(EXAMPLES.parent), "PATH": "", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("loss ") and (tmp_path / "throw.png").exists()
