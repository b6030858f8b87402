// partial_tile_summed_whole.cu -- WRONG ON PURPOSE: the last block's tile is filled up to n, and summed to its end
//
// fault: uninitialised
// array: tile
// launch: grid=4 block=64
// arguments: out float y 4; in float x 250 integers; int n=250

extern "C" __global__ void partial_tile_summed_whole(float* y, const float* x, int n)
{
    __shared__ float tile[64];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (i < n) {
        tile[t] = x[i];
    }
    __syncthreads();
    if (t == 0) {
        float sum = 0.0f;
        for (int k = 0; k < 64; ++k) {
            sum += tile[k]; // <- here
        }
        y[blockIdx.x] = sum;
    }
}
