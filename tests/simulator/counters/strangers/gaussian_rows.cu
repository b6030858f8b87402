// gaussian_rows.cu -- a separable blur along rows, halo in shared memory, weights in constant
// memory
#define RADIUS 8
#define TILE_W 16
#define TILE_H 4
#define STEPS 4
__constant__ float c_Kernel[2 * RADIUS + 1];

extern "C" __global__ void gaussian_rows(float* d_Dst, const float* d_Src, int imageW, int imageH,
                                         int pitch)
{
    __shared__ float s_Data[TILE_H][(STEPS + 2) * TILE_W];
    const int baseX = (blockIdx.x * STEPS - 1) * TILE_W + threadIdx.x;
    const int baseY = blockIdx.y * TILE_H + threadIdx.y;
    d_Src += baseY * pitch + baseX;
    d_Dst += baseY * pitch + baseX;
#pragma unroll
    for (int i = 1; i < 1 + STEPS; i++)
        s_Data[threadIdx.y][threadIdx.x + i * TILE_W] = d_Src[i * TILE_W];
    s_Data[threadIdx.y][threadIdx.x] = (baseX >= 0) ? d_Src[0] : 0;
    s_Data[threadIdx.y][threadIdx.x + (STEPS + 1) * TILE_W] =
        (imageW - baseX > (STEPS + 1) * TILE_W) ? d_Src[(STEPS + 1) * TILE_W] : 0;
    __syncthreads();
#pragma unroll
    for (int i = 1; i < 1 + STEPS; i++) {
        float sum = 0;
#pragma unroll
        for (int j = -RADIUS; j <= RADIUS; j++)
            sum += c_Kernel[RADIUS - j] * s_Data[threadIdx.y][threadIdx.x + i * TILE_W + j];
        d_Dst[i * TILE_W] = sum;
    }
}
