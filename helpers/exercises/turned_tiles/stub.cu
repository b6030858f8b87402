// %%kernel turned_tiles
__global__ void turned_tiles(float* P, const float* N, int n)
{
    __shared__ float4 tile[64];   // 256 cells
    const float* cells = reinterpret_cast<const float*>(tile);
    const int t = threadIdx.x;    // [0, 64)

    for (int start = 256 * blockIdx.x; start < n; start += 256 * gridDim.x) {
        // Copy.
        tile[t] = reinterpret_cast<const float4*>(N + start)[t];
        __syncthreads();

        // Turn the tile around and store.
        for (int o = t; o < 256; o += 64) {
            P[start + o] = cells[255 - o];
        }
        __syncthreads();
    }
}
