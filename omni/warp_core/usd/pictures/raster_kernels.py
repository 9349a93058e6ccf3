"""The kernels that draw: project, rasterise into a z-buffer, shade, filter. All of them are ours.

A z-buffer cell is one uint64: nearness in the upper half, the number of the primitive (from 1) in the lower, so that
one atomic maximum decides both. Nearness grows towards the eye and is affine in screen space. Triangles come first,
points after them. `render.py` calls these kernels in order.
"""

from __future__ import annotations

import omni.warp_core as wp

NEARNESS_BITS = wp.constant(4294967040.0)  # the largest float32 below 2**32


@wp.struct
class Lens:
    """A camera (see camera.View), the depths it tells apart, and the size of its picture in pixels."""

    eye: wp.vec3
    right: wp.vec3
    up: wp.vec3
    forward: wp.vec3
    scale: float
    perspective: int
    near: float
    far: float
    width: int
    height: int


@wp.func
def to_screen(p: wp.vec3, lens: Lens) -> wp.vec3:
    """Pixel x and y and nearness of a point; nearness is negative where the point is not in front of the eye."""
    d = p - lens.eye
    z = wp.dot(d, lens.forward)
    s = lens.scale * float(lens.width)
    nearness = (lens.far - z) / (lens.far - lens.near)
    if lens.perspective != 0:
        front = wp.max(z, 0.000001)
        s = s / front
        nearness = lens.near / front
    if z < lens.near * 0.999:
        nearness = -1.0
    x = 0.5 * float(lens.width) + s * wp.dot(d, lens.right)
    y = 0.5 * float(lens.height) - s * wp.dot(d, lens.up)
    return wp.vec3(x, y, nearness)


@wp.kernel
def project(points: wp.array[wp.vec3], lens: Lens, screen: wp.array[wp.vec3]):
    """Project every point to the screen."""
    i = wp.tid()
    screen[i] = to_screen(points[i], lens)


@wp.kernel
def clear(cells: wp.array[wp.uint64]):
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
def draw_triangles(screen: wp.array[wp.vec3], triangles: wp.array2d[int], lens: Lens, cells: wp.array[wp.uint64]):
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
    x1 = wp.min(int(wp.floor(wp.max(a[0], wp.max(b[0], c[0])) - 0.5)), lens.width - 1)
    y0 = wp.max(int(wp.ceil(wp.min(a[1], wp.min(b[1], c[1])) - 0.5)), 0)
    y1 = wp.min(int(wp.floor(wp.max(a[1], wp.max(b[1], c[1])) - 0.5)), lens.height - 1)
    for y in range(y0, y1 + 1):
        for x in range(x0, x1 + 1):
            px = float(x) + 0.5
            py = float(y) + 0.5
            u = edge(b, c, px, py) * inverse
            v = edge(c, a, px, py) * inverse
            w = 1.0 - u - v
            if u >= 0.0 and v >= 0.0 and w >= 0.0:
                wp.atomic_max(cells, y * lens.width + x, cell(u * a[2] + v * b[2] + w * c[2], t + 1))


@wp.kernel
def draw_points(screen: wp.array[wp.vec3], radii: wp.array[float], first: int, lens: Lens, cells: wp.array[wp.uint64]):
    """One thread a point: a disc that faces the eye, at least about a pixel wide."""
    i = wp.tid()
    p = screen[i]
    if p[2] < 0.0:
        return
    r = disc_radius(radii[i], p[2], lens)
    x0 = wp.max(int(wp.ceil(p[0] - r - 0.5)), 0)
    x1 = wp.min(int(wp.floor(p[0] + r - 0.5)), lens.width - 1)
    y0 = wp.max(int(wp.ceil(p[1] - r - 0.5)), 0)
    y1 = wp.min(int(wp.floor(p[1] + r - 0.5)), lens.height - 1)
    for y in range(y0, y1 + 1):
        for x in range(x0, x1 + 1):
            dx = float(x) + 0.5 - p[0]
            dy = float(y) + 0.5 - p[1]
            if dx * dx + dy * dy <= r * r:
                wp.atomic_max(cells, y * lens.width + x, cell(p[2], first + i + 1))


@wp.func
def disc_radius(radius: float, nearness: float, lens: Lens) -> float:
    """Radius of a point in pixels."""
    r = radius * lens.scale * float(lens.width)
    if lens.perspective != 0:
        r = r * nearness / lens.near
    return wp.max(r, 0.75)


@wp.kernel
def face_normals(points: wp.array[wp.vec3], triangles: wp.array2d[int], normals: wp.array[wp.vec3]):
    """Cross products: directions with the length of twice the area."""
    t = wp.tid()
    a = points[triangles[t, 0]]
    normals[t] = wp.cross(points[triangles[t, 1]] - a, points[triangles[t, 2]] - a)


@wp.func
def corner_angle(points: wp.array[wp.vec3], triangles: wp.array2d[int], t: int, vertex: int) -> float:
    """Angle of a triangle at one of its vertices."""
    u = wp.normalize(points[triangles[t, 0]] - points[vertex])  # one of the three is zero, so one product is left
    v = wp.normalize(points[triangles[t, 1]] - points[vertex])
    w = wp.normalize(points[triangles[t, 2]] - points[vertex])
    return wp.acos(wp.clamp(wp.dot(u, v) + wp.dot(v, w) + wp.dot(w, u), -1.0, 1.0))


@wp.kernel
def vertex_normals(
    points: wp.array[wp.vec3],
    triangles: wp.array2d[int],
    faces: wp.array[wp.vec3],
    starts: wp.array[int],
    around: wp.array[int],
    normals: wp.array[wp.vec3],
):
    """Mean over the triangles around each vertex by their angles: how faces are cut into them does not count."""
    i = wp.tid()
    total = wp.vec3(0.0, 0.0, 0.0)
    for k in range(starts[i], starts[i + 1]):
        total += wp.normalize(faces[around[k]]) * corner_angle(points, triangles, around[k], i)
    normals[i] = wp.normalize(total)


@wp.func
def seen_from(normal: wp.vec3, face: wp.vec3, to_eye: wp.vec3) -> wp.vec3:
    """The normal of the side of a face that the eye sees: a mean of faces may look away where the face is seen."""
    n = wp.normalize(normal)
    if wp.dot(face, to_eye) * wp.dot(face, n) < 0.0:
        n = n * (-1.0)
    return wp.normalize(n - to_eye * wp.min(wp.dot(n, to_eye), 0.0))


@wp.func
def sky(direction: wp.vec3, up: wp.vec3) -> wp.vec3:
    """Light from all around: bluish from above, brownish from below."""
    h = 0.5 + 0.5 * wp.dot(direction, up)
    return wp.vec3(0.16, 0.13, 0.11) * (1.0 - h) + wp.vec3(0.50, 0.60, 0.78) * h


@wp.func
def toward_eye(position: wp.vec3, lens: Lens) -> wp.vec3:
    """Direction from a place to the eye."""
    d = lens.forward * (-1.0)
    if lens.perspective != 0:
        d = wp.normalize(lens.eye - position)
    return d


@wp.func
def lit(
    color: wp.vec3, normal: wp.vec3, position: wp.vec3, lens: Lens, light: Lens, shadow: float, world_up: wp.vec3
) -> wp.vec3:
    """Ambient, key light, a soft highlight and a rim; linear RGB. Both sides of a surface look the same."""
    to_eye = toward_eye(position, lens)
    n = normal
    if wp.dot(n, to_eye) < 0.0:
        n = n * (-1.0)
    to_light = light.forward * (-1.0)
    key = wp.max(wp.dot(n, to_light), 0.0) * shadow
    diffuse = sky(n, world_up) * 0.50 + wp.vec3(1.0, 0.93, 0.82) * (1.45 * key)
    shine = wp.max(wp.dot(n, wp.normalize(to_light + to_eye)), 0.0)
    for _ in range(6):
        shine = shine * shine
    facing = 1.0 - wp.max(wp.dot(n, to_eye), 0.0)
    rim = facing * facing * facing * facing
    highlight = wp.vec3(1.0, 0.95, 0.88) * (0.35 * shine * shadow)
    return wp.cw_mul(color, diffuse) + highlight + sky(n, world_up) * (0.22 * rim)


@wp.func
def haze_passed(p: wp.vec3, at: wp.vec3, light: Lens, haze: wp.array2d[wp.vec3]) -> float:
    """Part of the key light that fog lets through to a point. `haze` has it for whole rays, and their depths in fog."""
    x = at[0] / float(light.width) * float(haze.shape[1]) - 0.5
    y = at[1] / float(light.height) * float(haze.shape[0]) - 0.5
    i = wp.clamp(int(wp.floor(y)), 0, haze.shape[0] - 2)
    j = wp.clamp(int(wp.floor(x)), 0, haze.shape[1] - 2)
    v = wp.clamp(y - float(i), 0.0, 1.0)
    u = wp.clamp(x - float(j), 0.0, 1.0)
    top = haze[i, j] * (1.0 - u) + haze[i, j + 1] * u
    bottom = haze[i + 1, j] * (1.0 - u) + haze[i + 1, j + 1] * u
    ray = top * (1.0 - v) + bottom * v
    inside = wp.clamp((wp.dot(p - light.eye, light.forward) - ray[1]) / wp.max(ray[2] - ray[1], 1.0e-9), 0.0, 1.0)
    return 1.0 - inside * (1.0 - ray[0])


@wp.func
def light_reaches(p: wp.vec3, light: Lens, cells: wp.array[wp.uint64], haze: wp.array2d[wp.vec3]) -> float:
    """Part of the key light that arrives at a point: 5 x 5 comparisons in the z-buffer seen from the light, and fog."""
    at = to_screen(p, light)
    x = int(wp.floor(at[0]))
    y = int(wp.floor(at[1]))
    seen = 0.0
    for j in range(-2, 3):
        for i in range(-2, 3):
            u = wp.clamp(x + i, 0, light.width - 1)
            v = wp.clamp(y + j, 0, light.height - 1)
            stored = float(cells[v * light.width + u] >> wp.uint64(32)) / NEARNESS_BITS
            if stored <= at[2] + 0.004:
                seen += 1.0
    return seen / 25.0 * haze_passed(p, at, light, haze)


@wp.func
def corner_weights(a: wp.vec3, b: wp.vec3, c: wp.vec3, x: float, y: float, perspective: int) -> wp.vec3:
    """Barycentric weights at a pixel, corrected for perspective; nearness is proportional to 1 / depth there."""
    inverse = 1.0 / edge(a, b, c[0], c[1])
    u = edge(b, c, x, y) * inverse
    v = edge(c, a, x, y) * inverse
    w = 1.0 - u - v
    if perspective != 0:
        u = u * a[2]
        v = v * b[2]
        w = w * c[2]
    return wp.vec3(u, v, w) / (u + v + w)


@wp.func
def smooth(authored: wp.vec3, vertex: wp.vec3, face: wp.vec3) -> wp.vec3:
    """The normal at a corner: the authored one; else the vertex's, or the face's where the vertex sits on a crease."""
    n = vertex
    if wp.length_sq(authored) > 0.0:
        return wp.normalize(authored)
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


@wp.kernel
def shade_triangles(
    cells: wp.array[wp.uint64],
    lens: Lens,
    screen: wp.array[wp.vec3],
    vertices: wp.array[wp.vec3],
    triangles: wp.array2d[int],
    faces: wp.array[wp.vec3],
    normals: wp.array[wp.vec3],
    authored: wp.array[wp.vec3],
    colors: wp.array[wp.vec3],
    light: Lens,
    light_cells: wp.array[wp.uint64],
    haze: wp.array2d[wp.vec3],
    world_up: wp.vec3,
    image: wp.array[wp.vec3],
):
    """Linear colour of the pixels where a triangle is seen, and of those where nothing is."""
    y, x = wp.tid()
    at = y * lens.width + x
    px = float(x) + 0.5
    py = float(y) + 0.5
    t = int(cells[at] & wp.uint64(4294967295)) - 1
    if t < 0:
        image[at] = backdrop(px / float(lens.width), py / float(lens.height), float(lens.width) / float(lens.height))
        return
    if t >= triangles.shape[0]:
        return
    ia = triangles[t, 0]
    ib = triangles[t, 1]
    ic = triangles[t, 2]
    weights = corner_weights(screen[ia], screen[ib], screen[ic], px, py, lens.perspective)
    u = weights[0]
    v = weights[1]
    w = weights[2]
    face = wp.normalize(faces[t])
    normal = smooth(authored[ia], normals[ia], face) * u
    normal += smooth(authored[ib], normals[ib], face) * v
    normal += smooth(authored[ic], normals[ic], face) * w
    position = vertices[ia] * u + vertices[ib] * v + vertices[ic] * w
    color = colors[ia] * u + colors[ib] * v + colors[ic] * w
    seen = seen_from(normal, face, toward_eye(position, lens))
    reached = light_reaches(position, light, light_cells, haze)
    image[at] = lit(color, seen, position, lens, light, reached, world_up)


@wp.kernel
def shade_points(
    cells: wp.array[wp.uint64],
    first: int,
    lens: Lens,
    screen: wp.array[wp.vec3],
    points: wp.array[wp.vec3],
    colors: wp.array[wp.vec3],
    radii: wp.array[float],
    light: Lens,
    light_cells: wp.array[wp.uint64],
    haze: wp.array2d[wp.vec3],
    world_up: wp.vec3,
    image: wp.array[wp.vec3],
):
    """Linear colour of the pixels where a point is seen, shaded as a ball."""
    y, x = wp.tid()
    at = y * lens.width + x
    i = int(cells[at] & wp.uint64(4294967295)) - 1 - first
    if i < 0 or i >= points.shape[0]:
        return
    p = screen[i]
    r = disc_radius(radii[i], p[2], lens)
    dx = (float(x) + 0.5 - p[0]) / r
    dy = (p[1] - float(y) - 0.5) / r
    dz = wp.sqrt(wp.max(1.0 - dx * dx - dy * dy, 0.0))
    normal = lens.right * dx + lens.up * dy - lens.forward * dz
    position = points[i] + normal * radii[i]
    image[at] = lit(
        colors[i], normal, position, lens, light, light_reaches(position, light, light_cells, haze), world_up
    )


@wp.func
def film(x: float) -> float:
    """Tone curve that bends highlights over instead of cutting them, then the gamma of sRGB."""
    t = wp.clamp((x * (2.51 * x + 0.03)) / (x * (2.43 * x + 0.59) + 0.14), 0.0, 1.0)
    g = 12.92 * t
    if t > 0.0031308:
        g = 1.055 * wp.pow(t, 1.0 / 2.4) - 0.055
    return 255.0 * g + 0.5


@wp.kernel
def resolve(image: wp.array[wp.vec3], width: int, factor: int, pixels: wp.array3d[wp.uint8]):
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
