// stencil_registers.cu -- seven points of a volume, one plane of three in shared memory
#define T 8
extern "C" __global__ void stencil_registers(float* out, const float* in, int nz, int ny, int nx)
{
    __shared__ float plane[T][T];
    const int x = blockIdx.x * (T - 2) + threadIdx.x - 1;
    const int y = blockIdx.y * (T - 2) + threadIdx.y - 1;
    const bool inside = x >= 0 && x < nx && y >= 0 && y < ny;
    float below = inside ? in[y * nx + x] : 0.0f;
    float here = inside ? in[(ny + y) * nx + x] : 0.0f;
    for (int z = 1; z < nz - 1; ++z) {
        const float above = inside ? in[((z + 1) * ny + y) * nx + x] : 0.0f;
        plane[threadIdx.y][threadIdx.x] = here;
        __syncthreads();
        if (x >= 1 && x < nx - 1 && y >= 1 && y < ny - 1 && threadIdx.x >= 1 &&
            threadIdx.x < T - 1 && threadIdx.y >= 1 && threadIdx.y < T - 1)
            out[(z * ny + y) * nx + x] = 2 * here + below + above +
                plane[threadIdx.y][threadIdx.x - 1] + plane[threadIdx.y][threadIdx.x + 1] +
                plane[threadIdx.y - 1][threadIdx.x] + plane[threadIdx.y + 1][threadIdx.x];
        __syncthreads();
        below = here;
        here = above;
    }
}
