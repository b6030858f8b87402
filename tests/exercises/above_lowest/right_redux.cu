// %%kernel above_lowest
__global__ void above_lowest(float* P, const float* N, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float mine = i < n ? N[i] : INFINITY;
    // The bits of floats below 0 are in the opposite order: exchange all but the sign.
    int order = __float_as_int(mine);
    order = order >= 0 ? order : order ^ 0x7fffffff;
    int lowest = __reduce_min_sync(0xffffffff, order);
    lowest = lowest >= 0 ? lowest : lowest ^ 0x7fffffff;
    if (i < n) P[i] = mine - __int_as_float(lowest);
}
