"""Fields whose surfaces are known, and checks of surfaces in float64, for tests of all methods that find surfaces."""

from collections import Counter

import numpy as np
from scipy import ndimage


def coordinates(shape) -> np.ndarray:
    """The positions of nodes in [-1, 1], as x, y, z."""
    return np.stack(np.meshgrid(*(np.linspace(-1, 1, n) for n in shape), indexing="ij"))


def sphere(shape=(30, 34, 40), radius=0.7) -> np.ndarray:
    return (np.linalg.norm(coordinates(shape), axis=0) - radius).astype(np.float32)


def torus(n=40) -> np.ndarray:
    x, y, z = coordinates((n, n, n))
    return np.hypot(np.hypot(x, y) - 0.6, z) - 0.25


def noise(shape, seed=1, smooth=0.0) -> np.ndarray:
    values = np.random.default_rng(seed).normal(size=shape)
    return (ndimage.gaussian_filter(values, smooth) if smooth else values).astype(np.float32)


def check_closed(vertices, faces) -> None:
    """Each side of a face belongs to one other, which uses it the other way, and all vertices are used."""
    sides = Counter((int(t[i]), int(t[i - 1])) for t in faces for i in range(faces.shape[1]))
    assert set(sides.values()) <= {1}
    assert all((b, a) in sides for a, b in sides)
    assert set(faces.ravel().tolist()) == set(range(len(vertices)))
    assert np.isfinite(vertices).all()


def check_manifold(faces) -> None:
    """The faces around each vertex of a closed surface are one ring, so that no two parts touch in a point alone."""
    following = {}
    for face in faces.tolist():
        for i, v in enumerate(face):
            following[v, face[i - 1]] = face[(i + 1) % len(face)]
    degrees = Counter(v for v, _ in following)
    for v, first in dict(following.keys()).items():
        at, steps = following[v, first], 1
        while at != first:
            at, steps = following[v, at], steps + 1
        assert steps == degrees[v]


def euler(vertices, faces) -> int:
    """Vertices minus edges plus faces, of a closed surface."""
    return len(vertices) - faces.size // 2 + len(faces)


def volume(vertices, triangles) -> float:
    """What the surface encloses; negative where the normals point inwards."""
    a, b, c = np.moveaxis(vertices[triangles].astype(float), 1, 0)
    return float((a * np.cross(b, c)).sum() / 6)


def area(vertices, triangles) -> float:
    a, b, c = np.moveaxis(vertices[triangles].astype(float), 1, 0)
    return float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2)
