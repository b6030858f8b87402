// plain_store_beside_atomics.cu -- WRONG ON PURPOSE: most threads use an atomic, one stores plainly
//
// fault: race
// array: most
// launch: grid=2 block=64
// arguments: inout int most 1 zeros; in int x 128 below=1000

extern "C" __global__ void plain_store_beside_atomics(int* most, const int* x)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 100) {
        *most = x[i]; // <- here
    } else {
        atomicMax(most, x[i]); // <- here
    }
}
