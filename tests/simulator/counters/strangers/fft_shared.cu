// fft_shared.cu -- Fourier transforms of 64 points in shared memory, radix 2
#define N 64
extern "C" __global__ void fft_shared(float2* out, const float2* in)
{
    __shared__ float2 s[N];
    const int t = threadIdx.x;
    for (int k = t; k < N; k += N / 2) s[__brev(k) >> 26] = in[blockIdx.x * N + k];
    for (int half = 1; half < N; half *= 2) {
        __syncthreads();
        const int j = t % half, a = (t / half) * 2 * half + j, b = a + half;
        float sine, cosine;
        __sincosf(-3.14159265f * j / half, &sine, &cosine);
        const float2 p = s[a], q = s[b];
        const float2 w = make_float2(q.x * cosine - q.y * sine, q.x * sine + q.y * cosine);
        s[a] = make_float2(p.x + w.x, p.y + w.y);
        s[b] = make_float2(p.x - w.x, p.y - w.y);
    }
    __syncthreads();
    for (int k = t; k < N; k += N / 2) out[blockIdx.x * N + k] = s[k];
}
