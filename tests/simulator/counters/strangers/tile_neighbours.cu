// tile_neighbours.cu -- four outputs a thread from a shared tile, loop over the neighbours unrolled
#define R 3
#define BLOCK 64
extern "C" __global__ void tile_neighbours(float* y, const float* x, int n)
{
    __shared__ float s[BLOCK * 4 + 8];
    int base = blockIdx.x * BLOCK * 4;
    for (int k = threadIdx.x; k < BLOCK * 4 + 2 * R; k += BLOCK) {
        int g = base + k - R;
        s[k] = (g >= 0 && g < n) ? x[g] : 0.0f;
    }
    __syncthreads();
    float r[4] = {0, 0, 0, 0};
#pragma unroll
    for (int j = 0; j < 4; j++)
#pragma unroll
        for (int k = 0; k <= 2 * R; k++) r[j] += s[threadIdx.x * 4 + j + k] * (k + 1);
    for (int j = 0; j < 4; j++)
        if (base + threadIdx.x * 4 + j < n) y[base + threadIdx.x * 4 + j] = r[j];
}
