// top_k.cu -- the eight greatest cells of each thread's column, kept sorted in registers
template <int K> struct TopK {
    float best[K];
    __device__ void clear()
    {
#pragma unroll
        for (int k = 0; k < K; k++) best[k] = -1e30f;
    }
    __device__ void insert(float v)
    {
        if (v <= best[K - 1]) return;
        best[K - 1] = v;
#pragma unroll
        for (int k = K - 1; k > 0; k--) {
            if (best[k] > best[k - 1]) {
                float t = best[k];
                best[k] = best[k - 1];
                best[k - 1] = t;
            }
        }
    }
};

extern "C" __global__ void top_k(float* out, const float* in, int rows, int columns)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= columns) return;
    TopK<8> top;
    top.clear();
    for (int r = 0; r < rows; r++) top.insert(in[r * columns + c]);
#pragma unroll
    for (int k = 0; k < 8; k++) out[k * columns + c] = top.best[k];
}
