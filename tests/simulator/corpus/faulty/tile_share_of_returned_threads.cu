// tile_share_of_returned_threads.cu -- WRONG ON PURPOSE: threads past the end return before they load their share of the tile
//
// fault: barrier
// launch: grid=4 block=64
// arguments: out float y 230; in float x 256 uniform; int n=230

extern "C" __global__ void tile_share_of_returned_threads(float* y, const float* x, int n)
{
    __shared__ float tile[64];
    const int t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (i >= n) return;
    tile[t] = x[i];
    __syncthreads(); // <- here
    y[i] = tile[t] + tile[63 - t];
}
