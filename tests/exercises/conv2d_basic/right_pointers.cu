// %%kernel conv2d_basic
__global__ void conv2d_basic(
    float* y, const float* x, const float* filter, int B, int C, int M, int H, int W, int K)
{
    const int rows = H - K + 1, columns = W - K + 1, wide = (columns + blockDim.x - 1) / blockDim.x;
    const int row = blockDim.y * (blockIdx.x / wide) + threadIdx.y;
    const int column = blockDim.x * (blockIdx.x % wide) + threadIdx.x;
    if (row >= rows || column >= columns) return;
    const float* weight = filter + blockIdx.y * C * K * K;
    float total = 0;
    for (int c = 0; c < C; c++) {
        const float* cell = x + ((blockIdx.z * C + c) * H + row) * W + column;
        for (int k = 0; k < K * K; k++)
            total += cell[k / K * W + k % K] * weight[c * K * K + k];
    }
    y[((blockIdx.z * M + blockIdx.y) * rows + row) * columns + column] = total;
}
