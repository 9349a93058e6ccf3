# Pushes points along their normals, by noise that moves with time.

# custom point3f[] inputs:points
# custom normal3f[] inputs:normals
# custom float inputs:height = 0.1
# custom float inputs:cell = 1.0
# custom point3f[] outputs:displaced


@wp.kernel
def displace(
    points: wp.array[wp.vec3],
    normals: wp.array[wp.vec3],
    time: float,
    height: float,
    cell: float,
    displaced: wp.array[wp.vec3],
):
    i = wp.tid()
    p = points[i] / cell
    n = wp.noise(wp.rand_init(7), wp.vec4(p[0], p[1], p[2], time))
    displaced[i] = points[i] + height * n * normals[i]
