// %%kernel conv_pool
__global__ void conv_pool(float* y, const float* x, const float* filter,
                          int B, int C, int M, int H, int W, int K, int pool)
{
    const int out_h = H - K + 1, out_w = W - K + 1;                  // of the convolution
    const int rows = (out_h + pool - 1) / pool, columns = (out_w + pool - 1) / pool;   // windows
    const int across = (columns + 15) / 16;                          // tiles side by side
    const int row = blockIdx.x / across * 16 + threadIdx.y;          // of this thread's window
    const int column = blockIdx.x % across * 16 + threadIdx.x;
    const int m = blockIdx.y, b = blockIdx.z;
    if (row >= rows || column >= columns) return;

    float largest = 0.0f;                                            // the ReLU
    for (int r = 0; r < pool; ++r) {
        for (int s = 0; s < pool; ++s) {
            //> The thread's window has the output in row h = row * pool + r, column w of the
            //> convolution. Leave it out if it is not there: the last windows are cut. Else compute
            //> its sum as in lab 107, and keep the larger of it and `largest`.
            const int h = row * pool + r, w = column * pool + s;
            if (h >= out_h || w >= out_w) continue;
            float sum = 0.0f;
            for (int c = 0; c < C; ++c)
                for (int p = 0; p < K; ++p)
                    for (int q = 0; q < K; ++q)
                        sum += x[(((size_t)b * C + c) * H + h + p) * W + w + q]
                             * filter[((m * C + c) * K + p) * K + q];
            largest = max(largest, sum);
            //<
        }
    }
    y[(((size_t)b * M + m) * rows + row) * columns + column] = largest;
}
