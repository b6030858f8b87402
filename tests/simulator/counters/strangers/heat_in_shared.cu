// heat_in_shared.cu -- several steps of heat on a tile whose margin shrinks at each step
#define SIDE 16
extern "C" __global__ void heat_in_shared(float* out, const float* in, int w, int h, int steps,
    float c)
{
    __shared__ float now[SIDE][SIDE], next[SIDE][SIDE];
    const int inner = SIDE - 2 * steps;
    const int x = blockIdx.x * inner + threadIdx.x - steps, y = blockIdx.y * inner +
        threadIdx.y - steps;
    const int tx = threadIdx.x, ty = threadIdx.y;
    const bool there = x >= 0 && x < w && y >= 0 && y < h;
    now[ty][tx] = there ? in[y * w + x] : 0.0f;
    __syncthreads();
    for (int s = 0; s < steps; ++s) {
        bool computes = false;
        if (tx > s && tx < SIDE - 1 - s && ty > s && ty < SIDE - 1 - s) {
            computes = there;
            next[ty][tx] = now[ty][tx] + c * (now[ty][tx - 1] + now[ty][tx + 1] + now[ty - 1][tx] +
                                              now[ty + 1][tx] - 4.0f * now[ty][tx]);
        }
        __syncthreads();
        if (tx > s && tx < SIDE - 1 - s && ty > s && ty < SIDE - 1 - s)
            now[ty][tx] = computes ? next[ty][tx] : 0.0f;
        __syncthreads();
    }
    if (there && tx >= steps && tx < SIDE - steps && ty >= steps && ty < SIDE - steps)
        out[y * w + x] = now[ty][tx];
}
