// partition_block.cu -- small numbers first, by a count of the block and a scan
extern "C" __global__ void partition_block(const int *x, int *out, int *zeros, int n)
{
    __shared__ int s[128];
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    int v = i < n ? x[i] : 1 << 30;
    int small = v < 50;
    int count = __syncthreads_count(small);
    s[t] = small;
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        int a = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += a;
        __syncthreads();
    }
    int rank = s[t] - small;
    int to = small ? rank : count + t - rank;
    __syncthreads();
    s[to] = v;
    __syncthreads();
    if (i < n) out[i] = s[t];
    if (t == 0) zeros[blockIdx.x] = count;
}
