// %%kernel my_rung -DMAPS=4
__global__ void my_rung(float* y, const float* x, const float* filter,
                        int B, int C, int M, int H, int W, int K)
{
    __shared__ float tile[30][30], taps[MAPS][15 * 15];   // K <= 15
    const int out_h = H - K + 1, out_w = W - K + 1, across = (out_w + 15) / 16, span = 15 + K;
    const int top = blockIdx.x / across * 16, left = blockIdx.x % across * 16;
    const int first = blockIdx.y * MAPS, b = blockIdx.z, t = threadIdx.y * 16 + threadIdx.x;
    const int h = top + threadIdx.y, w = left + threadIdx.x;
    const int maps = min(MAPS, M - first);                // of this block
    const bool inside = h < out_h && w < out_w;
    float sum[MAPS] = {};                                 // of the maps first to first + MAPS - 1

    for (int c = 0; c < C; ++c) {
        //> 1. Load by all 256 threads (this is thread t): tile[r][s] is row top + r, column
        //>    left + s of channel c, for r and s below span, where the image has that cell;
        //>    taps[m][i] is weight i of K * K, of map first + m and channel c, for m below maps.
        for (int i = t; i < span * span; i += 256) {
            const int r = i / span, s = i % span;
            if (top + r < H && left + s < W)
                tile[r][s] = x[(((size_t)b * C + c) * H + top + r) * W + left + s];
        }
        for (int i = t; i < maps * K * K; i += 256) {
            const int m = i / (K * K), tap = i % (K * K);
            taps[m][tap] = filter[((first + m) * C + c) * K * K + tap];
        }
        //<
        __syncthreads();   // other threads' cells are read next

        //> 2. If the thread is inside: read each cell of its window once, and add its product to
        //>    each sum[m] with m below maps. Let the loop over m end at MAPS, a constant: then the
        //>    compiler unrolls it by itself, and keeps the sums in registers.
        for (int i = 0; i < K * K && inside; ++i) {
            const float cell = tile[threadIdx.y + i / K][threadIdx.x + i % K];
            for (int m = 0; m < MAPS; ++m)
                if (m < maps) sum[m] += cell * taps[m][i];
        }
        //<
        __syncthreads();   // not before all have read
    }

    for (int m = 0; m < maps && inside; ++m)
        y[(((size_t)b * M + first + m) * out_h + h) * out_w + w] = sum[m];
}
