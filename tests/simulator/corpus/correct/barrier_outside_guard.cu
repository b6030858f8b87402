// barrier_outside_guard.cu -- a tree reduction over channels with its barriers outside every guard
//
// twin: barrier_in_guard
// launch: grid=2x1 block=8x8x4
// arguments: out float y 7x10; in float x 4x7x10 integers; int H_out=7; int W_out=10
// result: y = x.sum(axis=0)

#define CHANNELS 4

extern "C" __global__ void barrier_outside_guard(float* y, const float* x, int H_out, int W_out)
{
    __shared__ float part[CHANNELS][8][8];
    const int tx = threadIdx.x, ty = threadIdx.y, c = threadIdx.z;
    const int row = blockIdx.y * 8 + ty, col = blockIdx.x * 8 + tx;
    const bool inside = row < H_out && col < W_out;
    part[c][ty][tx] = inside ? x[(c * H_out + row) * W_out + col] : 0.0f;
    __syncthreads();
    for (int step = CHANNELS / 2; step > 0; step /= 2) {
        if (c < step) part[c][ty][tx] += part[c + step][ty][tx];
        __syncthreads();
    }
    if (inside && c == 0) y[row * W_out + col] = part[0][ty][tx];
}
