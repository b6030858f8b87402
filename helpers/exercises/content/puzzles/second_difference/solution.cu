// %%kernel second_difference
__global__ void second_difference(float* P, const float* N, int n)
{
    //> P[i] = N[i - 1] - 2 * N[i] + N[i + 1]; cells outside N count as 0.
    //> Blocks of 128 threads. Each block reads each cell that it needs once.
    __shared__ float tile[130];    // tile[s] is cell first - 1 + s
    const int t = threadIdx.x, first = blockIdx.x * 128, i = first + t;
    tile[t + 1] = i < n ? N[i] : 0.0f;
    if (t == 0) tile[0] = first > 0 ? N[first - 1] : 0.0f;
    if (t == 127) tile[129] = i + 1 < n ? N[i + 1] : 0.0f;
    __syncthreads();
    if (i < n) P[i] = tile[t] - 2 * tile[t + 1] + tile[t + 2];
    //<
}
