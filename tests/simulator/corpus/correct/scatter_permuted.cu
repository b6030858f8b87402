// scatter_permuted.cu -- a scatter by a permutation: every target has one source
//
// twin: scatter_to_shared_targets
// launch: grid=2 block=64
// arguments: out float y 128; in float x 128 uniform; in int index 128 permutation
// result: y = x[np.argsort(index)]

extern "C" __global__ void scatter_permuted(float* y, const float* x, const int* index)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[index[i]] = x[i];
}
