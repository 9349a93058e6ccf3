# Moves points to the nearest point of a mesh.

# custom point3f[] inputs:mesh:points
# custom int[] inputs:mesh:faceVertexCounts
# custom int[] inputs:mesh:faceVertexIndices
# custom point3f[] inputs:points
# custom float inputs:reach = 1000000.0
# custom point3f[] outputs:projected


@wp.kernel
def project(
    mesh: wp.uint64,
    points: wp.array[wp.vec3],
    reach: float,
    projected: wp.array[wp.vec3],
):
    i = wp.tid()
    p = points[i]
    near = wp.mesh_query_point_no_sign(mesh, p, reach)
    if near.result:
        p = wp.mesh_eval_position(mesh, near.face, near.u, near.v)
    projected[i] = p
