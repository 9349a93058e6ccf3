"""The kernels that draw volumes: rays through grids of voxels, as triangles and points are drawn by raster_kernels.py.

A level set goes into the z-buffer, where it hides and shades like any surface. Fog lets light through: `march_fog` adds
it to the finished picture from far to near. Its light was gathered before, at the nodes of a coarse lattice, since a
ray to the light from each sample would cost a hundred times as much. Places are in index space, lengths in the world.
"""

from __future__ import annotations

import omni.warp_core as wp

from .raster_kernels import NEARNESS_BITS, Lens, cell, light_reaches, lit, sky

SAMPLES = wp.constant(2)  # of the fine picture along each edge of a pixel
MOST_STEPS = wp.constant(4096)  # of a ray; it ends there, whatever a file says
LONGEST_STEP = wp.constant(2.0)  # voxels, through level sets: their values need not be distances
OPAQUE = wp.constant(0.003)  # light that fog may swallow unseen
KEY = wp.constant(wp.vec3(1.0, 0.93, 0.82))  # light of the key light on fog


@wp.struct
class Medium:
    """A volume that rays go through.

    Attributes:
        to_index, offset: matrix and translation from the world to index space.
        low, high: the box in index space that holds something to draw.
        first, width: the lowest corner of the table of blocks, and the width of a block in voxels.
        voxel: the shortest edge of a voxel in the world.
        distance: the length in the world of a distance 1 in a level set.
        color: of a surface, or the albedo of fog.
        extinction: of fog of density 1, for each unit of length in the world; of a glow, the light of a value 1.
        step: between samples of fog, a length in the world.
    """

    to_index: wp.mat33
    offset: wp.vec3
    low: wp.vec3
    high: wp.vec3
    first: wp.vec3
    width: float
    voxel: float
    distance: float
    color: wp.vec3
    extinction: float
    step: float


@wp.func
def ray_origin(lens: Lens, x: float, y: float) -> wp.vec3:
    """Where the ray of a pixel starts."""
    origin = lens.eye
    if lens.perspective == 0:
        s = 1.0 / (lens.scale * float(lens.width))
        origin += lens.right * ((x - 0.5 * float(lens.width)) * s) + lens.up * ((0.5 * float(lens.height) - y) * s)
    return origin


@wp.func
def ray_direction(lens: Lens, x: float, y: float) -> wp.vec3:
    """The direction of the ray of a pixel, of length 1."""
    direction = lens.forward
    if lens.perspective != 0:
        s = 1.0 / (lens.scale * float(lens.width))
        direction += lens.right * ((x - 0.5 * float(lens.width)) * s) + lens.up * ((0.5 * float(lens.height) - y) * s)
    return wp.normalize(direction)


@wp.func
def depth_of(nearness: float, lens: Lens) -> float:
    """Return the distance along the view of a nearness, as `to_screen` gives it; a far one where nothing is."""
    depth = lens.far - nearness * (lens.far - lens.near)
    if lens.perspective != 0:
        depth = lens.near / wp.max(nearness, 1.0e-9)
    if nearness <= 0.0:
        depth = 1.0e30
    return depth


@wp.func
def stretch_in(origin: wp.vec3, direction: wp.vec3, low: wp.vec3, high: wp.vec3) -> wp.vec2:
    """Return where a ray enters and leaves a box; it leaves first where it misses the box."""
    enter = 0.0
    leave = 1.0e30
    for k in range(3):
        if direction[k] != 0.0:
            a = (low[k] - origin[k]) / direction[k]
            b = (high[k] - origin[k]) / direction[k]
            enter = wp.max(enter, wp.min(a, b))
            leave = wp.min(leave, wp.max(a, b))
        elif origin[k] < low[k] or origin[k] > high[k]:
            leave = -1.0
    return wp.vec2(enter, leave)


@wp.func
def empty_length(p: wp.vec3, d: wp.vec3, medium: Medium, blocks: wp.array3d[wp.uint8]) -> float:
    """Return how far a ray at a place goes through a block without voxels to draw; 0 in other blocks."""
    q = (p - medium.first) / medium.width
    i = wp.clamp(int(wp.floor(q[0])), 0, blocks.shape[0] - 1)
    j = wp.clamp(int(wp.floor(q[1])), 0, blocks.shape[1] - 1)
    k = wp.clamp(int(wp.floor(q[2])), 0, blocks.shape[2] - 1)
    if blocks[i, j, k] != wp.uint8(0):
        return 0.0
    low = medium.first + wp.vec3(float(i), float(j), float(k)) * medium.width
    leave = stretch_in(p, d, low, low + wp.vec3(medium.width, medium.width, medium.width))
    return wp.max(leave[1], 0.01 * medium.voxel)


# -- level sets -------------------------------------------------------------------------------------------------------


@wp.func
def surface_between(id: wp.uint64, origin: wp.vec3, d: wp.vec3, near: float, far: float, before: float) -> float:
    """Return where a level set is 0 on a ray, between two places with different signs."""
    a = near
    b = far
    for _ in range(8):
        middle = 0.5 * (a + b)
        value = wp.volume_sample_f(id, origin + d * middle, wp.Volume.LINEAR)
        if (value < 0.0) == (before < 0.0):
            a = middle
        else:
            b = middle
    return 0.5 * (a + b)


@wp.kernel
def draw_level_set(
    id: wp.uint64,
    medium: Medium,
    blocks: wp.array3d[wp.uint8],
    lens: Lens,
    first_row: int,
    number: int,
    cells: wp.array[wp.uint64],
):
    """One thread a pixel: the first place on its ray where the sign changes."""
    row, x = wp.tid()
    y = first_row + row
    px = float(x) + 0.5
    py = float(y) + 0.5
    origin = medium.to_index * ray_origin(lens, px, py) + medium.offset
    direction = ray_direction(lens, px, py)
    d = medium.to_index * direction
    facing = wp.dot(direction, lens.forward)
    inside = stretch_in(origin, d, medium.low, medium.high)
    t = wp.max(inside[0], lens.near / facing)
    before = 0.0
    last = t
    for _ in range(MOST_STEPS):
        if t > inside[1]:
            break
        p = origin + d * t
        empty = empty_length(p, d, medium, blocks)
        if empty > 0.0:
            t += empty + 0.01 * medium.voxel
            before = 0.0
        else:
            value = wp.volume_sample_f(id, p, wp.Volume.LINEAR)
            if value * before < 0.0:
                depth = surface_between(id, origin, d, last, t, before) * facing
                nearness = (lens.far - depth) / (lens.far - lens.near)
                if lens.perspective != 0:
                    nearness = lens.near / depth
                at = y * lens.width + x
                wp.atomic_max(cells, at, cell(nearness, number))
                break
            before = value
            last = t
            t += wp.clamp(0.8 * wp.abs(value) * medium.distance, 0.2 * medium.voxel, LONGEST_STEP * medium.voxel)


@wp.func
def slope(id: wp.uint64, p: wp.vec3, axis: int) -> float:
    """Return a difference across a voxel, which is smooth where the derivative of a sample jumps."""
    step = wp.vec3(0.0, 0.0, 0.0)
    step[axis] = 0.9
    return wp.volume_sample_f(id, p + step, wp.Volume.LINEAR) - wp.volume_sample_f(id, p - step, wp.Volume.LINEAR)


@wp.kernel
def shade_level_set(
    id: wp.uint64,
    medium: Medium,
    lens: Lens,
    number: int,
    cells: wp.array[wp.uint64],
    light: Lens,
    light_cells: wp.array[wp.uint64],
    haze: wp.array2d[wp.vec3],
    world_up: wp.vec3,
    image: wp.array[wp.vec3],
):
    """Linear colour of the pixels where a level set is seen."""
    y, x = wp.tid()
    at = y * lens.width + x
    if int(cells[at] & wp.uint64(4294967295)) != number:
        return
    px = float(x) + 0.5
    py = float(y) + 0.5
    direction = ray_direction(lens, px, py)
    depth = depth_of(float(cells[at] >> wp.uint64(32)) / NEARNESS_BITS, lens)
    position = ray_origin(lens, px, py) + direction * (depth / wp.dot(direction, lens.forward))
    p = medium.to_index * position + medium.offset
    gradient = wp.vec3(slope(id, p, 0), slope(id, p, 1), slope(id, p, 2))
    normal = wp.normalize(wp.transpose(medium.to_index) * gradient)
    shadow = light_reaches(position + normal * (0.5 * medium.voxel), light, light_cells, haze)
    image[at] = lit(medium.color, normal, position, lens, light, shadow, world_up)


# -- fog --------------------------------------------------------------------------------------------------------------


@wp.func
def optical_depth(
    id: wp.uint64, origin: wp.vec3, direction: wp.vec3, medium: Medium, blocks: wp.array3d[wp.uint8]
) -> float:
    """Return the optical depth of fog on a ray from a place in index space; `direction` has length 1 in the world."""
    d = medium.to_index * direction
    end = stretch_in(origin, d, medium.low, medium.high)[1]
    step = wp.max(2.0 * medium.step, end / 48.0)
    total = 0.0
    t = 0.5 * step
    for _ in range(MOST_STEPS):
        if t > end:
            break
        p = origin + d * t
        empty = empty_length(p, d, medium, blocks)
        if empty > 0.0:
            t += step * wp.ceil(empty / step)
        else:
            density = wp.volume_sample_f(id, p, wp.Volume.LINEAR)
            if density > 0.0:
                total += density
            t += step
    return wp.min(total * step * medium.extinction, 1.0e6)


@wp.kernel
def gather_light(
    id: wp.uint64,
    medium: Medium,
    blocks: wp.array3d[wp.uint8],
    to_world: wp.mat33,
    spacing: wp.vec3,
    light: Lens,
    light_cells: wp.array[wp.uint64],
    no_haze: wp.array2d[wp.vec3],
    world_up: wp.vec3,
    first_row: int,
    nodes: wp.array3d[wp.vec3],
):
    """One thread a node: optical depth towards the key light and upwards, and the part of the key light in reach."""
    row, j, k = wp.tid()
    i = first_row + row
    p = medium.low + wp.cw_mul(wp.vec3(float(i), float(j), float(k)), spacing)
    towards = optical_depth(id, p, light.forward * (-1.0), medium, blocks)
    upwards = optical_depth(id, p, world_up, medium, blocks)
    seen = light_reaches(to_world * (p - medium.offset), light, light_cells, no_haze)
    nodes[i, j, k] = wp.vec3(towards, upwards, seen)


@wp.func
def between_nodes(q: wp.vec3, nodes: wp.array3d[wp.vec3]) -> wp.vec3:
    """Return what the nodes have at a place between them, which counts from the first one."""
    i = wp.clamp(int(wp.floor(q[0])), 0, nodes.shape[0] - 2)
    j = wp.clamp(int(wp.floor(q[1])), 0, nodes.shape[1] - 2)
    k = wp.clamp(int(wp.floor(q[2])), 0, nodes.shape[2] - 2)
    u = wp.clamp(q[0] - float(i), 0.0, 1.0)
    v = wp.clamp(q[1] - float(j), 0.0, 1.0)
    w = wp.clamp(q[2] - float(k), 0.0, 1.0)
    a = (nodes[i, j, k] * (1.0 - w) + nodes[i, j, k + 1] * w) * (1.0 - v)
    a += (nodes[i, j + 1, k] * (1.0 - w) + nodes[i, j + 1, k + 1] * w) * v
    b = (nodes[i + 1, j, k] * (1.0 - w) + nodes[i + 1, j, k + 1] * w) * (1.0 - v)
    b += (nodes[i + 1, j + 1, k] * (1.0 - w) + nodes[i + 1, j + 1, k + 1] * w) * v
    return a * (1.0 - u) + b * u


@wp.func
def phase(cosine: float, g: float) -> float:
    """Return Henyey and Greenstein's phase function, times 4 pi."""
    s = 1.0 + g * g - 2.0 * g * cosine
    return (1.0 - g * g) / (s * wp.sqrt(s))


@wp.func
def fog_light(at_place: wp.vec3, cosine: float, world_up: wp.vec3) -> wp.vec3:
    """Return the light that fog scatters towards the eye.

    Light that is scattered several times comes in octaves (Wrenninge): each is weaker, goes through less fog, and has
    less of a direction.
    """
    key = 0.0
    weight = 1.0
    for _ in range(4):
        key += weight * phase(cosine, 0.5 * weight) * wp.exp(-weight * at_place[0])
        weight = weight * 0.5
    ambient = sky(world_up, world_up) * (0.26 * wp.exp(-0.3 * at_place[1]) + 0.1)
    return KEY * (0.75 * key * at_place[2]) + ambient


@wp.func
def noise(x: int, y: int) -> float:
    """Return a number from 0 to 1 that differs between neighbouring pixels."""
    n = 0.06711056 * float(x) + 0.00583715 * float(y)
    n = 52.9829189 * (n - wp.floor(n))
    return n - wp.floor(n)


@wp.func
def lay_over(image: wp.array[wp.vec3], at: int, passed: float, light: wp.vec3):
    """Put fog between the eye and a sample of the picture."""
    image[at] = image[at] * passed + light


@wp.kernel
def march_fog(
    id: wp.uint64,
    medium: Medium,
    blocks: wp.array3d[wp.uint8],
    spacing: wp.vec3,
    nodes: wp.array3d[wp.vec3],
    lens: Lens,
    light: Lens,
    world_up: wp.vec3,
    cells: wp.array[wp.uint64],
    first_row: int,
    image: wp.array[wp.vec3],
):
    """One thread a pixel: absorption and light along its ray, up to the surface in each sample of the pixel."""
    row, x = wp.tid()
    y = first_row + row
    px = float(x * SAMPLES) + 0.5 * float(SAMPLES)
    py = float(y * SAMPLES) + 0.5 * float(SAMPLES)
    direction = ray_direction(lens, px, py)
    origin = medium.to_index * ray_origin(lens, px, py) + medium.offset
    d = medium.to_index * direction
    inside = stretch_in(origin, d, medium.low, medium.high)
    facing = wp.dot(direction, lens.forward)
    start = wp.max(inside[0], lens.near / facing)
    if start >= inside[1]:
        return
    corner = y * SAMPLES * lens.width + x * SAMPLES
    ends = wp.vec4()
    for k in range(4):
        n = float(cells[corner + (k >> 1) * lens.width + (k & 1)] >> wp.uint64(32)) / NEARNESS_BITS
        ends[k] = wp.min(depth_of(n, lens) / facing, 1.0e30)
    cosine = wp.dot(direction, light.forward)
    passed = 1.0
    glow = wp.vec3(0.0, 0.0, 0.0)
    t = start + medium.step * noise(x, y)
    for _ in range(MOST_STEPS):
        if t > inside[1] or passed < OPAQUE:
            break
        for k in range(4):
            if ends[k] < t:  # a surface, in front of which the ray has left the fog that follows
                lay_over(image, corner + (k >> 1) * lens.width + (k & 1), passed, glow)
                ends[k] = 2.0e30
        p = origin + d * t
        empty = empty_length(p, d, medium, blocks)
        if empty > 0.0:
            t += medium.step * wp.ceil(empty / medium.step)
        else:
            density = wp.volume_sample_f(id, p, wp.Volume.LINEAR)
            if density > 0.0:
                left = wp.exp(-density * medium.extinction * medium.step)
                at_place = between_nodes(wp.cw_div(p - medium.low, spacing), nodes)
                glow += wp.cw_mul(medium.color, fog_light(at_place, cosine, world_up)) * (passed * (1.0 - left))
                passed = passed * left
            t += medium.step
    if passed < OPAQUE:
        passed = 0.0
    for k in range(4):
        if ends[k] < 1.5e30:
            lay_over(image, corner + (k >> 1) * lens.width + (k & 1), passed, glow)


# -- glow -------------------------------------------------------------------------------------------------------------


@wp.func
def density_at(id: wp.uint64, p: wp.vec3, medium: Medium) -> float:
    """Return the density of fog at a place in index space, and 0 outside of its box or without fog."""
    density = 0.0
    inside = p[0] >= medium.low[0] and p[1] >= medium.low[1] and p[2] >= medium.low[2]
    if inside and p[0] <= medium.high[0] and p[1] <= medium.high[1] and p[2] <= medium.high[2]:
        density = wp.max(wp.volume_sample_f(id, p, wp.Volume.LINEAR), 0.0)
    return density


@wp.kernel
def march_glow(
    id: wp.uint64,
    medium: Medium,
    blocks: wp.array3d[wp.uint8],
    smoke_id: wp.uint64,
    smoke: Medium,
    has_smoke: bool,
    lens: Lens,
    cells: wp.array[wp.uint64],
    first_row: int,
    image: wp.array[wp.vec3],
):
    """One thread a pixel: the light that a glow sends along its ray, less what its smoke absorbs on the way."""
    row, x = wp.tid()
    y = first_row + row
    px = float(x * SAMPLES) + 0.5 * float(SAMPLES)
    py = float(y * SAMPLES) + 0.5 * float(SAMPLES)
    direction = ray_direction(lens, px, py)
    eye = ray_origin(lens, px, py)
    origin = medium.to_index * eye + medium.offset
    d = medium.to_index * direction
    smoke_origin = smoke.to_index * eye + smoke.offset
    smoke_d = smoke.to_index * direction
    near = lens.near / wp.dot(direction, lens.forward)
    inside = stretch_in(origin, d, medium.low, medium.high)
    start = wp.max(inside[0], near)
    if start >= inside[1]:
        return
    passed = 1.0
    t = near
    if has_smoke:
        t = wp.max(near, stretch_in(smoke_origin, smoke_d, smoke.low, smoke.high)[0])
        t = wp.max(t, start - float(MOST_STEPS) * smoke.step)
        while t < start:
            density = density_at(smoke_id, smoke_origin + smoke_d * t, smoke)
            passed *= wp.exp(-density * smoke.extinction * wp.min(smoke.step, start - t))
            t += smoke.step
    corner = y * SAMPLES * lens.width + x * SAMPLES
    ends = wp.vec4()
    for k in range(4):
        n = float(cells[corner + (k >> 1) * lens.width + (k & 1)] >> wp.uint64(32)) / NEARNESS_BITS
        ends[k] = wp.min(depth_of(n, lens) / wp.dot(direction, lens.forward), 1.0e30)
    glow = wp.vec3(0.0, 0.0, 0.0)
    t = start + medium.step * noise(x, y)
    for _ in range(MOST_STEPS):
        if t > inside[1] or passed < OPAQUE:
            break
        for k in range(4):
            if ends[k] < t:
                lay_over(image, corner + (k >> 1) * lens.width + (k & 1), 1.0, glow)
                ends[k] = 2.0e30
        lost = 0.0
        if has_smoke:
            lost = density_at(smoke_id, smoke_origin + smoke_d * t, smoke) * smoke.extinction * medium.step
        left = wp.exp(-lost)
        mean = 1.0 - 0.5 * lost  # of what passes within the step
        if lost > 0.01:
            mean = (1.0 - left) / lost
        p = origin + d * t
        if empty_length(p, d, medium, blocks) == 0.0:
            light = wp.max(wp.volume_sample_f(id, p, wp.Volume.LINEAR), 0.0)
            glow += medium.color * (light * medium.extinction * medium.step * passed * mean)
        passed = passed * left
        t += medium.step
    for k in range(4):
        if ends[k] < 1.5e30:
            lay_over(image, corner + (k >> 1) * lens.width + (k & 1), 1.0, glow)


# -- shadows of fog ---------------------------------------------------------------------------------------------------


@wp.kernel
def cast_haze(
    id: wp.uint64, medium: Medium, blocks: wp.array3d[wp.uint8], light: Lens, first_row: int, haze: wp.array2d[wp.vec3]
):
    """One thread a part of the light's picture: the light that passes fog, and the depths between which it is lost."""
    row, x = wp.tid()
    y = first_row + row
    scale = float(light.width) / float(haze.shape[1])
    px = (float(x) + 0.5) * scale
    py = (float(y) + 0.5) * scale
    origin = medium.to_index * ray_origin(light, px, py) + medium.offset
    d = medium.to_index * light.forward
    inside = stretch_in(origin, d, medium.low, medium.high)
    if inside[0] >= inside[1]:
        return
    depth = optical_depth(id, origin + d * inside[0], light.forward, medium, blocks)
    before = haze[y, x]
    near = wp.min(before[1], inside[0])
    haze[y, x] = wp.vec3(before[0] * wp.exp(-depth), near, wp.max(before[2], inside[1]))
