// %%kernel store_rows
__global__ void store_rows(float* y, const float4* sums)   // y: (8, 34); sums: (3 tiles, 32 lanes)
{
    const int lane = threadIdx.x, g = lane / 4, q = lane % 4;
    for (int n = 0; n < 3; ++n) {
        const float4 v = sums[n * 32 + lane];
        const float four[4] = {v.x, v.y, v.z, v.w};
        for (int i = 0; i < 4; ++i)
            if (n * 16 + q * 4 + i < 34) y[g * 34 + n * 16 + q * 4 + i] = four[i];
    }
}
