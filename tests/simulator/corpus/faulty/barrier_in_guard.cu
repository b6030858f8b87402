// barrier_in_guard.cu -- WRONG ON PURPOSE: __syncthreads() inside if (row < H_out && col < W_out), in a tree reduction over
//     channels (course reports B and C)
//
// fault: barrier
// launch: grid=2x1 block=8x8x4
// arguments: out float y 7x10; in float x 4x7x10 integers; int H_out=7; int W_out=10

#define CHANNELS 4

extern "C" __global__ void barrier_in_guard(float* y, const float* x, int H_out, int W_out)
{
    __shared__ float part[CHANNELS][8][8];
    const int tx = threadIdx.x, ty = threadIdx.y, c = threadIdx.z;
    const int row = blockIdx.y * 8 + ty, col = blockIdx.x * 8 + tx;
    if (row < H_out && col < W_out) {
        part[c][ty][tx] = x[(c * H_out + row) * W_out + col];
        __syncthreads(); // <- here
        for (int step = CHANNELS / 2; step > 0; step /= 2) {
            if (c < step) part[c][ty][tx] += part[c + step][ty][tx];
            __syncthreads(); // <- here
        }
        if (c == 0) y[row * W_out + col] = part[0][ty][tx];
    }
}
