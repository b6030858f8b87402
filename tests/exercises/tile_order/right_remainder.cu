// %%kernel tile_order -DBAND=4
__global__ void tile_order(int* Y, int high, int wide)
{
    int turn = 0;
    for (int tile = blockIdx.x; tile < high * wide; tile += gridDim.x, ++turn) {
        const int whole = high / BAND * BAND * wide;   // tiles of whole bands
        const int rows = tile < whole ? BAND : high % BAND;
        const int in_band = tile < whole ? tile % (BAND * wide) : tile - whole;
        const int band = tile < whole ? tile / (BAND * wide) : high / BAND;
        const int row = band * BAND + in_band % rows;
        Y[(row * wide + in_band / rows) * 32 + threadIdx.x] = turn * gridDim.x + blockIdx.x;
    }
}
