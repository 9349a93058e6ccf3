"""The kernels that draw: project, rasterise into a z-buffer, shade, filter. All of them are ours.

A z-buffer cell is one uint64: nearness in the upper half, the number of the primitive (from 1) in the lower, so that
one atomic maximum decides both. Nearness grows towards the eye and is affine in screen space. Triangles come first,
points after them. `render.py` calls these kernels in order.
"""

from __future__ import annotations

import omni.warp_core as wp

NEARNESS_BITS = wp.constant(4294967040.0)  # the largest float32 below 2**32


@wp.func
def to_camera(p: wp.vec3, eye: wp.vec3, right: wp.vec3, up: wp.vec3, forward: wp.vec3) -> wp.vec3:
    """A point in camera coordinates: right, up, forward."""
    d = p - eye
    return wp.vec3(wp.dot(d, right), wp.dot(d, up), wp.dot(d, forward))


@wp.kernel
def project(
    points: wp.array(dtype=wp.vec3),
    eye: wp.vec3,
    right: wp.vec3,
    up: wp.vec3,
    forward: wp.vec3,
    scale: float,
    perspective: int,
    near: float,
    far: float,
    width: int,
    height: int,
    screen: wp.array(dtype=wp.vec3),
):
    """Pixel x and y and nearness of every point; nearness is negative for points that are not in front of the eye."""
    i = wp.tid()
    c = to_camera(points[i], eye, right, up, forward)
    s = scale * float(width)
    nearness = (far - c[2]) / (far - near)
    if perspective != 0:
        z = wp.max(c[2], 0.000001)
        s = s / z
        nearness = near / z
    if c[2] < near * 0.999:
        nearness = -1.0
    screen[i] = wp.vec3(0.5 * float(width) + s * c[0], 0.5 * float(height) - s * c[1], nearness)


@wp.kernel
def clear(cells: wp.array(dtype=wp.uint64)):
    """Empty the z-buffer."""
    cells[wp.tid()] = wp.uint64(0)


@wp.func
def edge(a: wp.vec3, b: wp.vec3, x: float, y: float) -> float:
    """Twice the area of a, b and (x, y); its sign tells the side."""
    return (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])


@wp.func
def cell(nearness: float, number: int) -> wp.uint64:
    """A z-buffer cell."""
    n = wp.clamp(nearness, 0.0, 1.0) * NEARNESS_BITS
    return (wp.uint64(n) << wp.uint64(32)) | wp.uint64(number)


@wp.kernel
def draw_triangles(
    screen: wp.array(dtype=wp.vec3),
    triangles: wp.array2d(dtype=int),
    width: int,
    height: int,
    cells: wp.array(dtype=wp.uint64),
):
    """One thread a triangle: every pixel whose centre it covers."""
    t = wp.tid()
    a = screen[triangles[t, 0]]
    b = screen[triangles[t, 1]]
    c = screen[triangles[t, 2]]
    area = edge(a, b, c[0], c[1])
    if wp.min(a[2], wp.min(b[2], c[2])) < 0.0 or area == 0.0:
        return
    inverse = 1.0 / area
    x0 = wp.max(int(wp.ceil(wp.min(a[0], wp.min(b[0], c[0])) - 0.5)), 0)
    x1 = wp.min(int(wp.floor(wp.max(a[0], wp.max(b[0], c[0])) - 0.5)), width - 1)
    y0 = wp.max(int(wp.ceil(wp.min(a[1], wp.min(b[1], c[1])) - 0.5)), 0)
    y1 = wp.min(int(wp.floor(wp.max(a[1], wp.max(b[1], c[1])) - 0.5)), height - 1)
    for y in range(y0, y1 + 1):
        for x in range(x0, x1 + 1):
            px = float(x) + 0.5
            py = float(y) + 0.5
            u = edge(b, c, px, py) * inverse
            v = edge(c, a, px, py) * inverse
            w = 1.0 - u - v
            if u >= 0.0 and v >= 0.0 and w >= 0.0:
                wp.atomic_max(cells, y * width + x, cell(u * a[2] + v * b[2] + w * c[2], t + 1))


@wp.kernel
def draw_points(
    screen: wp.array(dtype=wp.vec3),
    radii: wp.array(dtype=float),
    scale: float,
    perspective: int,
    near: float,
    first: int,
    width: int,
    height: int,
    cells: wp.array(dtype=wp.uint64),
):
    """One thread a point: a disc that faces the eye, at least about a pixel wide."""
    i = wp.tid()
    p = screen[i]
    if p[2] < 0.0:
        return
    r = disc_radius(radii[i], p[2], scale, perspective, near, width)
    x0 = wp.max(int(wp.ceil(p[0] - r - 0.5)), 0)
    x1 = wp.min(int(wp.floor(p[0] + r - 0.5)), width - 1)
    y0 = wp.max(int(wp.ceil(p[1] - r - 0.5)), 0)
    y1 = wp.min(int(wp.floor(p[1] + r - 0.5)), height - 1)
    for y in range(y0, y1 + 1):
        for x in range(x0, x1 + 1):
            dx = float(x) + 0.5 - p[0]
            dy = float(y) + 0.5 - p[1]
            if dx * dx + dy * dy <= r * r:
                wp.atomic_max(cells, y * width + x, cell(p[2], first + i + 1))


@wp.func
def disc_radius(radius: float, nearness: float, scale: float, perspective: int, near: float, width: int) -> float:
    """Radius of a point in pixels."""
    r = radius * scale * float(width)
    if perspective != 0:
        r = r * nearness / near
    return wp.max(r, 0.75)


@wp.kernel
def face_normals(points: wp.array(dtype=wp.vec3), triangles: wp.array2d(dtype=int), normals: wp.array(dtype=wp.vec3)):
    """Cross products: directions with the length of twice the area."""
    t = wp.tid()
    a = points[triangles[t, 0]]
    normals[t] = wp.cross(points[triangles[t, 1]] - a, points[triangles[t, 2]] - a)


@wp.kernel
def vertex_normals(
    faces: wp.array(dtype=wp.vec3),
    starts: wp.array(dtype=int),
    around: wp.array(dtype=int),
    normals: wp.array(dtype=wp.vec3),
):
    """Mean over the triangles around each vertex, weighted by area."""
    i = wp.tid()
    total = wp.vec3(0.0, 0.0, 0.0)
    for k in range(starts[i], starts[i + 1]):
        total += faces[around[k]]
    normals[i] = wp.normalize(total)


@wp.func
def sky(direction: wp.vec3, up: wp.vec3) -> wp.vec3:
    """Light from all around: bluish from above, brownish from below."""
    h = 0.5 + 0.5 * wp.dot(direction, up)
    return wp.vec3(0.16, 0.13, 0.11) * (1.0 - h) + wp.vec3(0.50, 0.60, 0.78) * h


@wp.func
def lit(
    color: wp.vec3, normal: wp.vec3, to_eye: wp.vec3, to_light: wp.vec3, world_up: wp.vec3, shadow: float
) -> wp.vec3:
    """Ambient, key light, a soft highlight and a rim; linear RGB."""
    key = wp.max(wp.dot(normal, to_light), 0.0) * shadow
    diffuse = sky(normal, world_up) * 0.50 + wp.vec3(1.0, 0.93, 0.82) * (1.45 * key)
    half = wp.normalize(to_light + to_eye)
    shine = wp.max(wp.dot(normal, half), 0.0)
    shine = shine * shine
    shine = shine * shine
    shine = shine * shine
    shine = shine * shine
    shine = shine * shine
    shine = shine * shine
    facing = 1.0 - wp.max(wp.dot(normal, to_eye), 0.0)
    rim = facing * facing * facing * facing
    out = wp.cw_mul(color, diffuse)
    out += wp.vec3(1.0, 0.95, 0.88) * (0.35 * shine * shadow)
    return out + sky(normal, world_up) * (0.22 * rim)


@wp.func
def light_reaches(
    p: wp.vec3,
    eye: wp.vec3,
    right: wp.vec3,
    up: wp.vec3,
    forward: wp.vec3,
    scale: float,
    near: float,
    far: float,
    size: int,
    cells: wp.array(dtype=wp.uint64),
) -> float:
    """Part of the key light that arrives at a point: 5 x 5 comparisons in the z-buffer seen from the light."""
    c = to_camera(p, eye, right, up, forward)
    s = scale * float(size)
    x = int(wp.floor(0.5 * float(size) + s * c[0]))
    y = int(wp.floor(0.5 * float(size) - s * c[1]))
    nearness = (far - c[2]) / (far - near) + 0.004
    seen = 0.0
    for j in range(-2, 3):
        for i in range(-2, 3):
            u = wp.clamp(x + i, 0, size - 1)
            v = wp.clamp(y + j, 0, size - 1)
            stored = float(cells[v * size + u] >> wp.uint64(32)) / NEARNESS_BITS
            if stored <= nearness:
                seen += 1.0
    return seen / 25.0


@wp.kernel
def shade(
    cells: wp.array(dtype=wp.uint64),
    width: int,
    height: int,
    screen: wp.array(dtype=wp.vec3),
    vertices: wp.array(dtype=wp.vec3),
    triangles: wp.array2d(dtype=int),
    faces: wp.array(dtype=wp.vec3),
    normals: wp.array(dtype=wp.vec3),
    colors: wp.array(dtype=wp.vec3),
    point_screen: wp.array(dtype=wp.vec3),
    points: wp.array(dtype=wp.vec3),
    point_colors: wp.array(dtype=wp.vec3),
    radii: wp.array(dtype=float),
    eye: wp.vec3,
    right: wp.vec3,
    up: wp.vec3,
    forward: wp.vec3,
    scale: float,
    perspective: int,
    near: float,
    light_eye: wp.vec3,
    light_right: wp.vec3,
    light_up: wp.vec3,
    light_forward: wp.vec3,
    light_scale: float,
    light_near: float,
    light_far: float,
    light_size: int,
    light_cells: wp.array(dtype=wp.uint64),
    world_up: wp.vec3,
    image: wp.array(dtype=wp.vec3),
):
    """Linear colour of every pixel."""
    y, x = wp.tid()
    px = float(x) + 0.5
    py = float(y) + 0.5
    stored = cells[y * width + x]
    number = int(stored & wp.uint64(4294967295)) - 1
    count = triangles.shape[0]
    if number < 0:
        image[y * width + x] = backdrop(px / float(width), py / float(height), float(width) / float(height))
        return
    position = wp.vec3(0.0, 0.0, 0.0)
    normal = wp.vec3(0.0, 0.0, 1.0)
    color = wp.vec3(0.0, 0.0, 0.0)
    if number < count:
        ia = triangles[number, 0]
        ib = triangles[number, 1]
        ic = triangles[number, 2]
        a = screen[ia]
        b = screen[ib]
        c = screen[ic]
        inverse = 1.0 / edge(a, b, c[0], c[1])
        u = edge(b, c, px, py) * inverse
        v = edge(c, a, px, py) * inverse
        w = 1.0 - u - v
        if perspective != 0:
            u = u * a[2]
            v = v * b[2]
            w = w * c[2]
            total = u + v + w
            u = u / total
            v = v / total
            w = w / total
        position = vertices[ia] * u + vertices[ib] * v + vertices[ic] * w
        color = colors[ia] * u + colors[ib] * v + colors[ic] * w
        face = wp.normalize(faces[number])
        normal = smooth(normals[ia], face) * u + smooth(normals[ib], face) * v + smooth(normals[ic], face) * w
        normal = wp.normalize(normal)
    else:
        i = number - count
        p = point_screen[i]
        r = disc_radius(radii[i], p[2], scale, perspective, near, width)
        dx = (px - p[0]) / r
        dy = (p[1] - py) / r
        dz = wp.sqrt(wp.max(1.0 - dx * dx - dy * dy, 0.0))
        normal = right * dx + up * dy - forward * dz
        position = points[i] + normal * radii[i]
        color = point_colors[i]
    to_eye = wp.vec3(0.0, 0.0, 0.0) - forward
    if perspective != 0:
        to_eye = wp.normalize(eye - position)
    if wp.dot(normal, to_eye) < 0.0:
        normal = wp.vec3(0.0, 0.0, 0.0) - normal
    shadow = light_reaches(
        position, light_eye, light_right, light_up, light_forward, light_scale, light_near, light_far, light_size,
        light_cells,
    )  # fmt: skip
    to_light = wp.vec3(0.0, 0.0, 0.0) - light_forward
    image[y * width + x] = lit(color, normal, to_eye, to_light, world_up, shadow)


@wp.func
def smooth(vertex: wp.vec3, face: wp.vec3) -> wp.vec3:
    """The normal at a corner: the vertex's, or the face's where the vertex sits on a crease."""
    n = vertex
    if wp.dot(vertex, face) < 0.72:
        n = face
    return n


@wp.func
def backdrop(x: float, y: float, aspect: float) -> wp.vec3:
    """A dark gradient, lighter in the middle."""
    dx = (x - 0.5) * aspect
    dy = y - 0.42
    fall = wp.exp(-1.9 * (dx * dx + dy * dy))
    return wp.vec3(0.006, 0.007, 0.011) * (1.0 - fall) + wp.vec3(0.045, 0.058, 0.082) * fall


@wp.func
def film(x: float) -> float:
    """Tone curve that bends highlights over instead of cutting them, then the gamma of sRGB."""
    t = wp.clamp((x * (2.51 * x + 0.03)) / (x * (2.43 * x + 0.59) + 0.14), 0.0, 1.0)
    g = 12.92 * t
    if t > 0.0031308:
        g = 1.055 * wp.pow(t, 1.0 / 2.4) - 0.055
    return 255.0 * g + 0.5


@wp.kernel
def resolve(image: wp.array(dtype=wp.vec3), width: int, factor: int, pixels: wp.array3d(dtype=wp.uint8)):
    """Mean of factor x factor samples, then eight bits."""
    y, x = wp.tid()
    r = 0.0
    g = 0.0
    b = 0.0
    for j in range(factor):
        for i in range(factor):
            c = image[(y * factor + j) * width + x * factor + i]
            # samples are limited before they are averaged, or highlights would have jagged rims
            r += wp.min(c[0], 2.0)
            g += wp.min(c[1], 2.0)
            b += wp.min(c[2], 2.0)
    n = float(factor * factor)
    pixels[y, x, 0] = wp.uint8(film(r / n))
    pixels[y, x, 1] = wp.uint8(film(g / n))
    pixels[y, x, 2] = wp.uint8(film(b / n))
