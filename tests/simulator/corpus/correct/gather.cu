// gather.cu -- a gather that knows -1 as "nothing there"
//
// twin: gather_index_minus_one
// launch: grid=2 block=128
// arguments: out float y 250; in float x 100 uniform; in int index 250 below=100 minus=1; int n=250
// result: y = np.where(index >= 0, x[np.maximum(index, 0)], 0)

extern "C" __global__ void gather(float* y, const float* x, const int* index, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = index[i] >= 0 ? x[index[i]] : 0.0f;
    }
}
