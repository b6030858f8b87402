// sgemm_two_buffers.cu -- the next tile is on its way by cp.async while this one is used
#include <cuda_pipeline.h>
#define T 32
extern "C" __global__ void sgemm_two_buffers(float* C, const float* A, const float* B, int N, int K)
{
    __shared__ float As[2][T][T];
    __shared__ float Bs[2][T][T];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * T + y, column = blockIdx.x * T + x;
    const int tiles = K / T;
    auto fetch = [&](int tile, int half) {
        for (int r = y; r < T; r += blockDim.y) {
            __pipeline_memcpy_async(&As[half][r][x], &A[(blockIdx.y * T + r) * K + tile * T + x],
                4);
            __pipeline_memcpy_async(&Bs[half][r][x], &B[(tile * T + r) * N + column], 4);
        }
        __pipeline_commit();
    };
    float sums[4] = {0, 0, 0, 0};
    fetch(0, 0);
    for (int tile = 0; tile < tiles; ++tile) {
        if (tile + 1 < tiles) {
            fetch(tile + 1, (tile + 1) % 2);
            __pipeline_wait_prior(1);
        } else {
            __pipeline_wait_prior(0);
        }
        __syncthreads();
        for (int k = 0; k < T; ++k)
            for (int i = 0; i < 4; ++i) sums[i] += As[tile % 2][y + 8 * i][k] * Bs[tile % 2][k][x];
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i) C[(row + 8 * i) * N + column] = sums[i];
}
