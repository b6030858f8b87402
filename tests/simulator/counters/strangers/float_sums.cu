// float_sums.cu -- sums of floats and doubles by atomics of many blocks: their order is the
// hardware's
extern "C" __global__ void float_sums(float* sum, double* precise, float* best, const float* x,
                                      const int* group, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(&sum[group[i]], x[i]);
    atomicAdd(&precise[group[i]], (double)x[i]);
    float old = atomicExch(&best[i / 4], x[i]);
    if (old > x[i]) atomicAdd(&sum[0], 0.0f);
}
