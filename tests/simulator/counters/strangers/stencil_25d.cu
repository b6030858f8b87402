// stencil_25d.cu -- a column of cells in registers, the plane in shared memory with its halo
#define BX 32
#define BY 8
#define R 2
extern "C" __global__ void stencil_25d(float* out, const float* in, int nx, int ny, int nz)
{
    __shared__ float plane[BY + 2 * R][BX + 2 * R];
    const int x = blockIdx.x * BX + threadIdx.x + R, y = blockIdx.y * BY + threadIdx.y + R;
    const int tx = threadIdx.x + R, ty = threadIdx.y + R, layer = nx * ny;
    const bool inside = x < nx - R && y < ny - R;
    const int base = min(y, ny - 1) * nx + min(x, nx - 1);
    float behind[R], front[R], current;
    for (int i = 0; i < R; ++i) behind[i] = in[base + i * layer];
    current = in[base + R * layer];
    for (int i = 0; i < R; ++i) front[i] = in[base + (R + 1 + i) * layer];
    for (int z = R; z < nz - R; ++z) {
        __syncthreads();
        plane[ty][tx] = current;
        if (threadIdx.y < R) {
            plane[threadIdx.y][tx] = in[z * layer + (y - R) * nx + min(x, nx - 1)];
            plane[threadIdx.y + BY + R][tx] = in[z * layer + min(y + BY, ny - 1) * nx + min(x,
                nx - 1)];
        }
        if (threadIdx.x < R) {
            plane[ty][threadIdx.x] = in[z * layer + min(y, ny - 1) * nx + x - R];
            plane[ty][threadIdx.x + BX + R] = in[z * layer + min(y, ny - 1) * nx + min(x + BX,
                nx - 1)];
        }
        __syncthreads();
        float sum = 0.5f * current;
        for (int i = 1; i <= R; ++i)
            sum += 0.1f / i * (plane[ty][tx - i] + plane[ty][tx + i] + plane[ty - i][tx] +
                               plane[ty + i][tx] + behind[R - i] + front[i - 1]);
        if (inside) out[z * layer + y * nx + x] = sum;
        behind[0] = behind[1];
        behind[1] = current;
        current = front[0];
        front[0] = front[1];
        if (z + R + 1 < nz) front[1] = in[base + (z + R + 1) * layer];
    }
}
