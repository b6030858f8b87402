// %%kernel store_rows
__global__ void store_rows(float* y, const float4* sums)   // y: (8, 34); sums: (3 tiles, 32 lanes)
{
    // One warp. Lane 4 g + q of tile n holds columns 16 n + 4 q to 16 n + 4 q + 3 of row g of y:
    // they are sums[32 * n + lane]. Columns from 34 on do not exist.
}
