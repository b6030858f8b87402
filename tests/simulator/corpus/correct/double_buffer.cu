// double_buffer.cu -- a double-buffered tile: the next one is loaded while this one is read, one barrier a step
//
// twin: double_buffer_same_half
// launch: grid=1 block=64
// arguments: out float y 64; in float x 4x64 integers; int steps=4
// result: y = x[:, ::-1].sum(axis=0)

extern "C" __global__ void double_buffer(float* y, const float* x, int steps)
{
    __shared__ float tile[2][64];
    const int t = threadIdx.x;
    float sum = 0.0f;
    tile[0][t] = x[t];
    __syncthreads();
    for (int k = 0; k < steps; ++k) {
        const int now = k % 2, next = 1 - now;
        if (k + 1 < steps) {
            tile[next][t] = x[(k + 1) * 64 + t];
        }
        sum += tile[now][63 - t];
        __syncthreads();
    }
    y[t] = sum;
}
