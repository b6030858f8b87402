// float_sum_by_atomics.cu -- a float sum by atomics: its order, and so its last digits, are not fixed
//
// launch: grid=4 block=64
// arguments: inout float sum 1 zeros; in float x 256 uniform
// result: sum = [x.sum()]
// compare: within 1e-5

extern "C" __global__ void float_sum_by_atomics(float* sum, const float* x)
{
    atomicAdd(sum, x[blockIdx.x * blockDim.x + threadIdx.x]);
}
