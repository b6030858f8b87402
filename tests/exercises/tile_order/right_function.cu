// %%kernel tile_order -DBAND=4
__device__ int2 place(int tile, int high, int wide)
{
    const int first = tile / (BAND * wide) * BAND;
    const int rows = first + BAND > high ? high - first : BAND;
    tile -= first * wide;
    return make_int2(first + tile % rows, tile / rows);
}

__global__ void tile_order(int* Y, int high, int wide)
{
    for (int turn = 0; turn * gridDim.x + blockIdx.x < high * wide; ++turn) {
        const int tile = turn * gridDim.x + blockIdx.x;
        const int2 to = place(tile, high, wide);
        Y[(to.x * wide + to.y) * 32 + threadIdx.x] = tile;
    }
}
