// %%kernel tile_order -DBAND=4
__global__ void tile_order(int* Y, int high, int wide)
{
    for (int tile = blockIdx.x; tile < high * wide && threadIdx.x == 0; tile += gridDim.x) {
        const int first = tile / (BAND * wide) * BAND;
        const int rows = min(BAND, high - first);
        const int within = tile - first * wide;
        for (int i = 0; i < 32; ++i) {
            Y[((first + within % rows) * wide + within / rows) * 32 + i] = tile;
        }
    }
}
