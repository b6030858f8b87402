// halves_of_a_tile.cu -- a tile of two halves, and the weights in the array behind it
//
// twin: index_in_next_shared_array
// launch: grid=1 block=512
// arguments: out float y 512; in float x 1024 uniform; in float w 512 uniform
// compare: within 1e-6
// result: y = x[:512][::-1] * w + x[512:]

extern "C" __global__ void halves_of_a_tile(float* y, const float* x, const float* w)
{
    __shared__ float tile[1024];
    __shared__ float weights[1024];
    const int t = threadIdx.x;
    tile[t] = x[t];
    tile[t + 512] = x[t + 512];
    weights[t] = w[t];
    __syncthreads();
    y[t] = tile[511 - t] * weights[t] + tile[512 + t];
}
