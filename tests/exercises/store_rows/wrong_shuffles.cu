// %%kernel store_rows
__global__ void store_rows(float* y, const float4* sums)   // y: (8, 34); sums: (3 tiles, 32 lanes)
{
    const int lane = threadIdx.x, g = lane / 4, q = lane % 4;
    float4 mine[3];
    for (int n = 0; n < 3; ++n) mine[n] = sums[n * 32 + lane];
    for (int first = 0; first < 288; first += 32) {
        const int i = first + lane, row = min(i / 34, 7), column = i % 34;
        float value = 0.0f;
        for (int n = 0; n < 3; ++n) {
            const int from = row * 4 + column % 16 / 4;
            const float a = __shfl_sync(0xffffffff, mine[n].x, from), b = __shfl_sync(0xffffffff, mine[n].y, from);
            const float c = __shfl_sync(0xffffffff, mine[n].z, from), d = __shfl_sync(0xffffffff, mine[n].w, from);
            const int k = column % 4;
            if (column / 16 == n) value = k == 0 ? a : k == 1 ? b : k == 2 ? c : d;
        }
        if (i < 272) y[i] = value;
    }
}
