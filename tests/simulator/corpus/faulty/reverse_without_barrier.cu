// reverse_without_barrier.cu -- WRONG ON PURPOSE: a thread reads what another may not have stored yet
//
// fault: race
// also: uninitialised
// array: cells
// launch: grid=2 block=128
// arguments: out float y 256; in float x 256 uniform

extern "C" __global__ void reverse_without_barrier(float* y, const float* x)
{
    __shared__ float cells[128];
    const int t = threadIdx.x, start = blockIdx.x * blockDim.x;
    cells[t] = x[start + t]; // <- here
    y[start + t] = cells[127 - t]; // <- here
}
