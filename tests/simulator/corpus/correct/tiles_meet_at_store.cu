// tiles_meet_at_store.cu -- block = input tile: the threads of the halo only load
//
// twin: tiles_overlap_at_store
// launch: grid=4 block=34
// arguments: out float y 128; in float x 130 uniform
// result: y = x[:-2] + x[2:]

extern "C" __global__ void tiles_meet_at_store(float* y, const float* x)
{
    __shared__ float tile[34];
    const int t = threadIdx.x, i = blockIdx.x * 32 + t; // 32 outputs, 34 inputs a block
    tile[t] = x[i];
    __syncthreads();
    if (t + 2 < 34) y[i] = tile[t] + tile[t + 2];
}
