// index_in_next_shared_array.cu -- WRONG ON PURPOSE: the second half of a tile lands in the array behind it
//
// fault: out-of-bounds
// array: tile
// launch: grid=1 block=512
// arguments: out float y 512; in float x 1024 uniform; in float w 512 uniform

extern "C" __global__ void index_in_next_shared_array(float* y, const float* x, const float* w)
{
    __shared__ float tile[512];
    __shared__ float weights[1024];
    const int t = threadIdx.x;
    tile[t] = x[t];
    tile[t + 1024] = x[t + 512]; // <- here
    weights[t] = w[t];
    __syncthreads();
    y[t] = tile[511 - t] * weights[t];
}
