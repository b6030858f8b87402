// softmax_rows.cu -- softmax, a warp for each row, __expf
extern "C" __global__ void softmax_rows(float* out, const float* in, int rows, int cols)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    const float* x = in + row * cols;
    float* y = out + row * cols;
    float m = -3.402823466e38f;
    for (int c = threadIdx.x; c < cols; c += 32) m = fmaxf(m, x[c]);
    for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, o));
    float sum = 0;
    for (int c = threadIdx.x; c < cols; c += 32) {
        float e = __expf(x[c] - m);
        y[c] = e;
        sum += e;
    }
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, o);
    for (int c = threadIdx.x; c < cols; c += 32) y[c] /= sum;
}
