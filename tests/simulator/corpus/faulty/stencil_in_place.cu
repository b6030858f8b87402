// stencil_in_place.cu -- WRONG ON PURPOSE: three-point means in place: a neighbour may be old or new
//
// fault: race
// array: x
// launch: grid=4 block=64
// arguments: inout float x 250 uniform; int n=250

extern "C" __global__ void stencil_in_place(float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1) {
        x[i] = (x[i - 1] + x[i] + x[i + 1]) / 3.0f; // <- here
    }
}
