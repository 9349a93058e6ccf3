# Lets heat spread over a grid of rows and columns, which keeps its values from frame to frame. Two kernels in turn.

# custom float[] inputs:heat
# custom float[] state:heat
# custom float[] outputs:heat
# custom int2 inputs:heat:dims = [64, 64]

# custom float[] state:change
# custom token inputs:change:length = "heat"
# custom int2 inputs:change:dims = [64, 64]
# custom float inputs:rate = 0.2
# custom int inputs:substeps = 4


@wp.kernel
def flow(heat: wp.array2d[float], change: wp.array2d[float]):
    i, j = wp.tid()
    rows, columns = heat.shape[0], heat.shape[1]
    up = heat[wp.max(i - 1, 0), j]
    down = heat[wp.min(i + 1, rows - 1), j]
    left = heat[i, wp.max(j - 1, 0)]
    right = heat[i, wp.min(j + 1, columns - 1)]
    change[i, j] = up + down + left + right - 4.0 * heat[i, j]


@wp.kernel
def add(heat: wp.array2d[float], change: wp.array2d[float], rate: float):
    i, j = wp.tid()
    heat[i, j] = heat[i, j] + rate * change[i, j]
