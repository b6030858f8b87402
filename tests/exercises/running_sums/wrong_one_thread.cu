// %%kernel running_sums
__global__ void running_sums(float* P, const float* N, int n)
{
    __shared__ float4 four[64];
    float* s = reinterpret_cast<float*>(four);
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = i < n ? N[i] : 0.0f;
    __syncthreads();
    if (t == 0) {
        float sum = 0.0f;
        for (int k = 0; k < 64; ++k) {    // a fourth of the requests
            float4 v = four[k];
            v.x += sum, v.y += v.x, v.z += v.y, v.w += v.z, sum = v.w;
            four[k] = v;
        }
    }
    __syncthreads();
    if (i < n) P[i] = s[t];
}
