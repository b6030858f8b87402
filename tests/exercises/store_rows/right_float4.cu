// %%kernel store_rows
__global__ void store_rows(float* y, const float4* sums)   // y: (8, 34); sums: (3 tiles, 32 lanes)
{
    __shared__ __align__(16) float staged[272];
    const int lane = threadIdx.x, g = lane / 4, q = lane % 4;
    for (int n = 0; n < 3; ++n) {
        const float4 v = sums[n * 32 + lane];
        const float four[4] = {v.x, v.y, v.z, v.w};
        for (int i = 0; i < 4; ++i)
            if (n * 16 + q * 4 + i < 34) staged[g * 34 + n * 16 + q * 4 + i] = four[i];
    }
    __syncwarp();
    for (int i = lane; i < 68; i += 32)
        reinterpret_cast<float4*>(y)[i] = reinterpret_cast<const float4*>(staged)[i];
}
