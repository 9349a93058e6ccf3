# Turns points around the y axis, the higher the more.

# custom point3f[] inputs:points
# custom float inputs:turns = 1.0
# custom point3f[] outputs:twisted


@wp.kernel
def twist(points: wp.array[wp.vec3], turns: float, twisted: wp.array[wp.vec3]):
    i = wp.tid()
    p = points[i]
    c = wp.cos(turns * p[1])
    s = wp.sin(turns * p[1])
    twisted[i] = wp.vec3(c * p[0] + s * p[2], p[1], c * p[2] - s * p[0])
