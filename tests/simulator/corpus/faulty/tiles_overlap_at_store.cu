// tiles_overlap_at_store.cu -- WRONG ON PURPOSE: blocks store their whole input tile, halo included: neighbours write the
//     same cells
//
// fault: race
// array: y
// launch: grid=4 block=34
// arguments: out float y 130; in float x 130 uniform

extern "C" __global__ void tiles_overlap_at_store(float* y, const float* x)
{
    __shared__ float tile[34];
    const int t = threadIdx.x, i = blockIdx.x * 32 + t; // 32 outputs, 34 inputs a block
    tile[t] = x[i];
    __syncthreads();
    y[i] = tile[t] + (t + 2 < 34 ? tile[t + 2] : 0.0f); // <- here
}
