// %%kernel taps_split
__global__ void taps_split(float* y, const float* x, const float* filter,
                           int B, int C, int M, int H, int W, int K)
{
    const int out_w = W - K + 1, outputs = (H - K + 1) * out_w, taps = C * K * K;
    const int i = blockIdx.x * 8 + threadIdx.y;    // this warp's output, counted row by row
    const int m = blockIdx.y, b = blockIdx.z, lane = threadIdx.x;
    if (i >= outputs) return;                      // a warp as a whole: i is the same in its lanes

    // Add up this lane's taps: lane, lane + 32, lane + 64, ... below `taps`.

    // Add up the 32 lanes' sums by shuffles, and let one lane store the output:
    // y[(b * M + m) * outputs + i]
}
