// scatter_to_shared_targets.cu -- WRONG ON PURPOSE: several threads scatter to one place: which of them wins?
//
// fault: race
// also: unwritten
// array: y
// launch: grid=2 block=64
// arguments: inout float y 128 zeros; in float x 128 uniform; in int index 128 below=64

extern "C" __global__ void scatter_to_shared_targets(float* y, const float* x, const int* index)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[index[i]] = x[i]; // <- here
}
