// %%kernel store_rows
__global__ void store_rows(float* y, const float4* sums)   // y: (8, 34); sums: (3 tiles, 32 lanes)
{
    for (int i = threadIdx.x; i < 68; i += 32) reinterpret_cast<float4*>(y)[i] = sums[i];
}
