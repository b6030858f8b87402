// remainder_by_zero.cu -- WRONG ON PURPOSE: a divisor from the input is zero for some threads
//
// fault: fault
// launch: grid=2 block=64
// arguments: out int y 128; in int x 128 permutation

extern "C" __global__ void remainder_by_zero(int* y, const int* x)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = 100 % (x[i] % 3); // <- here
}
