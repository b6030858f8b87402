// %%kernel split_sum
__global__ void split_sum(float* D, const float* A, const float* B, int steps)
{
    for (int i = threadIdx.x; i < 128; i += 32) {
        float total = 0.0f;
        for (int step = 0; step < steps; ++step) {
            float sum = 0.0f;
            for (int k = 16 * step; k < 16 * step + 16; ++k) {
                sum = fmaf(A[16 * steps * (i / 8) + k], B[8 * k + i % 8], sum);
            }
            total += sum;
        }
        D[i] = total;
    }
}
