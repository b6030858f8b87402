// clamp_branches.cu -- short branches that become predicates: loads and stores that only some lanes
// do
extern "C" __global__ void clamp_branches(float* y, const float* a, const float* b, int* count,
                                          int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = a[i];
    if (v < 0.f) v = b[i];
    if (v > 2.f)
        v = 2.f;
    else if (v < -2.f)
        v = -2.f;
    if (i > 0 && i < n - 1) v += 0.5f * (a[i - 1] - a[i + 1]);
    if (v > 1.5f) atomicAdd(count, 1);
    if (i % 3 == 0) y[i] = v;
    if (i % 3 == 1) y[i] = -v;
    if (i % 3 == 2) y[i] = 0.f;
}
