# Keeps the points above a height, and leaves out the others. The order of the points that are kept may change.

# custom point3f[] inputs:points
# custom float inputs:height = 0.0
# custom point3f[] outputs:kept
# custom token inputs:kept:length = "points"
# custom token inputs:kept:counter = "count"
# custom int outputs:count


@wp.kernel
def keep(
    points: wp.array[wp.vec3],
    height: float,
    kept: wp.array[wp.vec3],
    count: wp.array[int],
):
    i = wp.tid()
    if points[i][1] >= height:
        k = wp.atomic_add(count, 0, 1)
        if k < kept.shape[0]:
            kept[k] = points[i]
