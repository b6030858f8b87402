// %%kernel taps_split
__global__ void taps_split(float* y, const float* x, const float* filter,
                           int B, int C, int M, int H, int W, int K)
{
    const int out_w = W - K + 1, outputs = (H - K + 1) * out_w, taps = C * K * K;
    const int i = blockIdx.x * 8 + threadIdx.y;    // this warp's output, counted row by row
    const int m = blockIdx.y, b = blockIdx.z, lane = threadIdx.x;
    if (i >= outputs) return;                      // a warp as a whole: i is the same in its lanes

    //> Add up this lane's taps: lane, lane + 32, lane + 64, ... below `taps`.
    const int h = i / out_w, w = i % out_w;
    float sum = 0.0f;
    for (int t = lane; t < taps; t += 32) {
        const int c = t / (K * K), p = t / K % K, q = t % K;
        sum += x[((b * C + c) * H + h + p) * W + w + q] * filter[m * taps + t];
    }
    //<

    //> Add up the 32 lanes' sums by shuffles, and let one lane store the output:
    //> y[(b * M + m) * outputs + i]
    for (int half = 16; half > 0; half /= 2) sum += __shfl_down_sync(0xffffffff, sum, half);
    if (lane == 0) y[(b * M + m) * outputs + i] = sum;
    //<
}
