// The programs in CUDA C, for gpu_cupy.py: input arrays, scalars, outputs. A thread for each element, as in
// in_wp.py. tests/gpu/test_benchmark.py runs them on the CPU.

#define INDEX (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x)

extern "C" __global__ void nbody(const float* __restrict__ positions, const float* __restrict__ masses, int n,
                                 float softening, float* accelerations) {
    long long i = INDEX;
    if (i >= n) return;
    float x = positions[3 * i], y = positions[3 * i + 1], z = positions[3 * i + 2];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int j = 0; j < n; ++j) {
        float dx = positions[3 * j] - x, dy = positions[3 * j + 1] - y, dz = positions[3 * j + 2] - z;
        float inverse = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + softening);
        float s = masses[j] * inverse * inverse * inverse;
        ax += dx * s;
        ay += dy * s;
        az += dz * s;
    }
    accelerations[3 * i] = ax;
    accelerations[3 * i + 1] = ay;
    accelerations[3 * i + 2] = az;
}

extern "C" __global__ void mandelbrot(const float* __restrict__ real, const float* __restrict__ imaginary, int size,
                                      int iterations, int* counts) {
    long long i = INDEX;
    if (i >= static_cast<long long>(size) * size) return;
    float a = real[i % size], b = imaginary[i / size], x = 0.0f, y = 0.0f;
    int count = 0;
    while (count < iterations && x * x + y * y <= 4.0f) {
        float t = x * x - y * y + a;
        y = 2.0f * x * y + b;
        x = t;
        ++count;
    }
    counts[i] = count;
}

extern "C" __global__ void mix(const float* __restrict__ x, int n, float* y) {
    long long i = INDEX;
    if (i >= n) return;
    float t = x[i];
    y[i] = sinf(t) * expf(-0.3f * t) + logf(t) + powf(t, 1.7f);
}

extern "C" __global__ void stencil(const float* __restrict__ u, int size, float k, float* out) {
    long long i = INDEX;
    if (i >= static_cast<long long>(size) * size) return;
    int row = i / size, column = i % size;
    float c = u[i];
    if (row > 0 && row < size - 1 && column > 0 && column < size - 1)
        c += k * (u[i - size] + u[i + size] + u[i - 1] + u[i + 1] - 4.0f * c);
    out[i] = c;
}

extern "C" __global__ void saxpy(const float* __restrict__ x, float* y, int n, float a) {
    long long i = INDEX;
    if (i < n) y[i] = a * x[i] + y[i];
}

extern "C" __global__ void particles(float* positions, float* velocities, int n, float gravity, float step) {
    long long i = INDEX;
    if (i >= n) return;
    float vx = velocities[3 * i], vy = velocities[3 * i + 1] + gravity * step, vz = velocities[3 * i + 2];
    velocities[3 * i] = vx;
    velocities[3 * i + 1] = vy;
    velocities[3 * i + 2] = vz;
    positions[3 * i] += vx * step;
    positions[3 * i + 1] += vy * step;
    positions[3 * i + 2] += vz * step;
}
