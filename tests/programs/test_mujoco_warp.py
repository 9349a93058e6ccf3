"""MuJoCo Warp, which imports `warp`, steps scenes as MuJoCo does, whose C code computes in float64."""

from __future__ import annotations

import warnings

import mujoco
import numpy as np
import pytest

import omni.warp_core as wp
from omni.warp_core import as_warp

as_warp.install()
import mujoco_warp as mjw  # noqa: E402 - imports `warp`, which this package must be by then

PLANE = '<geom type="plane" size="5 5 .1"/>'
BODY = '<body pos="{0}"><freejoint/><geom type="{1}" size="{2}" euler="20 30 0"/></body>'
SCENES = {
    "pendulum": """<body pos="1 0 1"><joint type="hinge" axis="0 1 0"/>
        <geom type="capsule" size=".05" fromto="0 0 0 .4 0 0"/>
        <body pos=".4 0 0"><joint type="hinge" axis="0 1 0" damping=".1"/>
        <geom type="capsule" size=".05" fromto="0 0 0 .4 0 0"/></body></body>""",
    "box": PLANE + BODY.format("0 0 .25", "box", ".1 .15 .2"),
    "sphere on box": PLANE + BODY.format("0 0 .25", "box", ".1 .15 .2") + BODY.format("0.05 0 .6", "sphere", ".1"),
    "capsule and ellipsoid": PLANE
    + BODY.format("0 0 .3", "capsule", ".1 .2")
    + BODY.format("1 0 .3", "ellipsoid", ".1 .15 .2"),
    "two boxes": PLANE + BODY.format("0 0 .25", "box", ".2 .2 .1") + BODY.format("0 0 .6", "box", ".1 .1 .1"),
    "limits": """<body pos="0 0 1"><joint type="slide" axis="0 0 1" limited="true" range="-.05 .2"/>
        <geom type="sphere" size=".1"/><body pos="0 .3 0"><joint type="ball"/>
        <geom type="box" size=".05 .2 .05"/></body></body>""",
}


OPTIONS = ["", 'cone="elliptic"', 'solver="CG"', 'jacobian="sparse"', 'integrator="RK4"', 'integrator="implicitfast"']
CASES = [(scene, "") for scene in SCENES] + [("sphere on box", options) for options in OPTIONS if options]


@pytest.mark.parametrize("scene, options", CASES)
def test_steps_are_those_of_mujoco(scene, options):
    text = f'<mujoco><option timestep="0.004" {options}/><worldbody>{SCENES[scene]}</worldbody></mujoco>'
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wp.KernelWarning)
        there, state = mjw.put_model(model), mjw.put_data(model, data)
        for _ in range(60):
            mjw.step(there, state)
            mujoco.mj_step(model, data)
    np.testing.assert_allclose(state.qpos.numpy()[0], data.qpos, atol=1e-4)
    np.testing.assert_allclose(state.qvel.numpy()[0], data.qvel, atol=1e-2)
