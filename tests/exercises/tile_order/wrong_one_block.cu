// %%kernel tile_order -DBAND=4
__global__ void tile_order(int* Y, int high, int wide)
{
    if (blockIdx.x > 0) return;
    for (int tile = 0; tile < high * wide; ++tile) {
        const int first = tile / (BAND * wide) * BAND;
        const int rows = min(BAND, high - first);
        const int within = tile - first * wide;
        Y[((first + within % rows) * wide + within / rows) * 32 + threadIdx.x] = tile;
    }
}
