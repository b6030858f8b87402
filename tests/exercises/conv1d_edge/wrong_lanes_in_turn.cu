// %%kernel conv1d_edge
extern "C" __global__ void conv1d_edge(float* P, const float* N, const float* filter, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float f = filter[0], g = filter[1], h = filter[2];
    const float left = N[max(i - 1, 0)], here = N[i], right = N[min(i + 1, n - 1)];
    float sum = 0.0f;
    for (int lane = 0; lane < 32; ++lane) {
        if (threadIdx.x % 32 != lane) continue;
        for (volatile int again = 0; again < 20; ++again) {
            sum = left * f + here * g + right * h;
        }
    }
    P[i] = sum;
}
