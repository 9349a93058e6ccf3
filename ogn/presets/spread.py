# Moves points apart that are nearer than a distance, with a hash grid to find neighbors.

# custom point3f[] inputs:points
# custom point3f[] inputs:grid:points
# custom float inputs:grid:radius = 1.0
# custom float inputs:radius = 1.0
# custom float inputs:amount = 0.5
# custom point3f[] outputs:moved


@wp.kernel
def spread(
    grid: wp.uint64,
    points: wp.array[wp.vec3],
    radius: float,
    amount: float,
    moved: wp.array[wp.vec3],
):
    i = wp.tid()
    p = points[i]
    push = wp.vec3(0.0, 0.0, 0.0)
    near = wp.hash_grid_query(grid, p, radius)
    j = int(0)
    while wp.hash_grid_query_next(near, j):
        away = p - points[j]
        distance = wp.length(away)
        if distance > 0.0 and distance < radius:
            push += (radius - distance) / distance * away
    moved[i] = p + amount * push
