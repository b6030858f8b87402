// gather_index_minus_one.cu -- WRONG ON PURPOSE: the index array marks "nothing there" with -1, and the gather follows it
//
// fault: out-of-bounds
// array: x
// launch: grid=2 block=128
// arguments: out float y 250; in float x 100 uniform; in int index 250 below=100 minus=1; int n=250

extern "C" __global__ void gather_index_minus_one(float* y, const float* x, const int* index, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = x[index[i]]; // <- here
    }
}
