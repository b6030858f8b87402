// double_buffer_same_half.cu -- WRONG ON PURPOSE: both halves of the double buffer are the same half
//
// fault: race
// array: tile
// launch: grid=1 block=64
// arguments: out float y 64; in float x 4x64 integers; int steps=4

extern "C" __global__ void double_buffer_same_half(float* y, const float* x, int steps)
{
    __shared__ float tile[2][64];
    const int t = threadIdx.x;
    float sum = 0.0f;
    tile[0][t] = x[t];
    __syncthreads();
    for (int k = 0; k < steps; ++k) {
        const int now = 0, next = 0;
        if (k + 1 < steps) {
            tile[next][t] = x[(k + 1) * 64 + t]; // <- here
        }
        sum += tile[now][63 - t]; // <- here
        __syncthreads();
    }
    y[t] = sum;
}
