// %%kernel taps_split
__global__ void taps_split(float* y, const float* x, const float* filter,
                           int B, int C, int M, int H, int W, int K)
{
    const int out_w = W - K + 1, outputs = (H - K + 1) * out_w, taps = C * K * K;
    const int i = blockIdx.x * 8 + threadIdx.y, m = blockIdx.y, b = blockIdx.z, lane = threadIdx.x;
    if (i >= outputs) return;                                  // a warp as a whole: i is the same in its lanes
    const int h = i / out_w, w = i % out_w;
    float sum = 0.0f;
    for (int t = lane; t < taps; t += 32) {
        const int c = t / (K * K), p = t / K % K, q = t % K;
        sum += x[((b * C + c) * H + h + p) * W + w + q] * filter[m * taps + t];
    }
    __shared__ float part[8][32];
    part[threadIdx.y][lane] = sum;
    __syncwarp();
    if (lane == 0) {
        for (int k = 1; k < 32; ++k) sum += part[threadIdx.y][k];
        y[(b * M + m) * outputs + i] = sum;
    }
}
