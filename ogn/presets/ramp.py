# Colors points by their height, from one color to another.

# custom point3f[] inputs:points
# custom float inputs:low = 0.0
# custom float inputs:high = 1.0
# custom color3f inputs:lower = [0.05, 0.1, 0.3]
# custom color3f inputs:upper = [0.9, 0.6, 0.2]
# custom color3f[] outputs:colors


@wp.kernel
def ramp(
    points: wp.array[wp.vec3],
    low: float,
    high: float,
    lower: wp.vec3,
    upper: wp.vec3,
    colors: wp.array[wp.vec3],
):
    i = wp.tid()
    s = wp.clamp((points[i][1] - low) / (high - low), 0.0, 1.0)
    colors[i] = (1.0 - s) * lower + s * upper
