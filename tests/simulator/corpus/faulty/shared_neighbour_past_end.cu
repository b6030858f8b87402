// shared_neighbour_past_end.cu -- WRONG ON PURPOSE: the last thread reads one cell past a shared array
//
// fault: out-of-bounds
// array: cells
// launch: grid=2 block=128
// arguments: out float y 256; in float x 256 uniform

extern "C" __global__ void shared_neighbour_past_end(float* y, const float* x)
{
    __shared__ float cells[128];
    const int t = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + t;
    cells[t] = x[i];
    __syncthreads();
    y[i] = cells[t + 1]; // <- here
}
