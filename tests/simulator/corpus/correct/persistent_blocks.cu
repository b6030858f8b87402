// persistent_blocks.cu -- blocks draw tiles from a counter until none is left; a barrier on either side of the draw
//
// launch: grid=3 block=32
// arguments: out float y 320; inout int next 1 zeros; in float x 320 uniform; int tiles=10
// result: y = x + 1

extern "C" __global__ void persistent_blocks(float* y, int* next, const float* x, int tiles)
{
    __shared__ int tile;
    for (;;) {
        if (threadIdx.x == 0) {
            tile = atomicAdd(next, 1);
        }
        __syncthreads();
        const int mine = tile;
        __syncthreads();
        if (mine >= tiles) {
            return;
        }
        y[mine * 32 + threadIdx.x] = x[mine * 32 + threadIdx.x] + 1.0f;
    }
}
