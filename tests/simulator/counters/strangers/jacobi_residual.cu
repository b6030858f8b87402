// jacobi_residual.cu -- a Jacobi step with a tile and halo, and the sum of the changes
#define W 16
#define H 8
extern "C" __global__ void jacobi_residual(float* next, const float* now, float* residual,
                                           int rows, int columns)
{
    __shared__ float tile[H + 2][W + 2];
    __shared__ float part[H * W];
    const int x = blockIdx.x * W + threadIdx.x + 1, y = blockIdx.y * H + threadIdx.y + 1;
    for (int r = threadIdx.y; r < H + 2; r += H)
        for (int c = threadIdx.x; c < W + 2; c += W)
            tile[r][c] = now[(blockIdx.y * H + r) * columns + blockIdx.x * W + c];
    __syncthreads();
    const int ty = threadIdx.y + 1, tx = threadIdx.x + 1, t = threadIdx.y * W + threadIdx.x;
    const float value =
        0.25f * (tile[ty - 1][tx] + tile[ty + 1][tx] + tile[ty][tx - 1] + tile[ty][tx + 1]);
    next[y * columns + x] = value;
    part[t] = fabsf(value - tile[ty][tx]);
    __syncthreads();
    for (int s = H * W / 2; s > 0; s /= 2) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0) atomicAdd(residual, part[0]);
}
