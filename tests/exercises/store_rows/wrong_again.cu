// %%kernel store_rows
__global__ void store_rows(float* y, const float4* sums)   // y: (8, 34); sums: (3 tiles, 32 lanes)
{
    const float* all = reinterpret_cast<const float*>(sums);
    for (int i = threadIdx.x; i < 8 * 34; i += 32) {
        const int g = i / 34, column = i % 34, n = column / 16, q = column % 16 / 4;
        const float before = all[0];
        y[i] = all[(n * 32 + g * 4 + q) * 4 + column % 4] + 0.0f * (before + all[i] + all[i + 1]);
    }
}
