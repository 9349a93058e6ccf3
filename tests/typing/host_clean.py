"""Host code that type checkers accept without a word."""

from __future__ import annotations

import numpy as np

import omni.warp_core as wp


@wp.struct
class Particle:
    position: wp.vec3
    velocity: wp.vec3
    mass: float


@wp.kernel
def move(particles: wp.array[Particle], dt: float):
    i = wp.tid()
    p = particles[i]
    p.position += p.velocity * dt
    particles[i] = p


def simulate(count: int, steps: int) -> np.ndarray:
    wp.init()
    wp.config.mode = "debug"
    wp.config.max_unroll = 4
    particles = wp.zeros(count, dtype=Particle)
    for _ in range(steps):
        wp.launch(move, dim=count, inputs=[particles, 0.01])
    command = wp.launch(move, dim=(count,), inputs=[particles, 0.01], record_cmd=True, device="cpu")
    command.launch()
    wp.synchronize()
    return particles.numpy()


def arrays() -> list[float]:
    a = wp.zeros(4, dtype=float)
    b = wp.array([1.0, 2.0, 3.0, 4.0], dtype=wp.float32)
    c = wp.zeros((3, 4), dtype=wp.vec3, device="cpu")
    d = wp.full(shape=(2, 2), value=1.5, dtype=wp.float64)
    e = wp.from_numpy(np.zeros((5, 3), np.float32), dtype=wp.vec3)
    a.fill_(1.0)
    a.assign(b)
    wp.copy(a, b, count=2)
    a[0] = 3.0
    d[0, 1] = 2.0
    c[0, 1] = wp.vec3(1.0, 2.0, 3.0)
    row: wp.array[wp.vec3] = c[1]
    corner: wp.vec3 = c[0, 1]
    a += 2.0 * b - 1.0
    more = wp.map(lambda x, y: x + y, a, b, out=a)
    print((-a).numpy(), more.numpy())
    grid = wp.empty_like(c)
    grid.zero_()
    total = wp.utils.array_sum(a)
    wp.utils.array_scan(a, b, inclusive=False)
    shape: tuple[int, ...] = e.shape
    print(row, corner.x, total, shape, a.reshape((2, 2)).numpy(), e.view(wp.float32), a.dtype, len(a), a.device)
    with wp.ScopedTimer("work", print=False) as timer:
        pass
    with wp.ScopedDevice("cpu") as device:
        print(device.alias, timer.elapsed, wp.get_device().is_cpu)
    return [float(x) for x in a.list()]


def values() -> float:
    p = wp.vec3(1.0, 2.0, 3.0)
    q = wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), wp.PI / 2.0)
    m = wp.quat_to_matrix(q)
    t = wp.transform(p, q)
    x, y, z = p
    s = Particle()
    s.position = wp.quat_rotate(q, p) + wp.transform_point(t, p) + m @ p
    s.mass = x + y + z + s.position[0] + s.position.y + m[0, 1] + m[0].x
    vec5 = wp.types.vector(length=5, dtype=wp.float32)
    print(vec5(1.0, 2.0, 3.0, 4.0, 5.0), wp.uint32(7) + 1, wp.float64(1.5) * 2.0, np.array(p), t.p, t.q, wp.vec3(p))
    return wp.dot(s.position, p) * s.mass
