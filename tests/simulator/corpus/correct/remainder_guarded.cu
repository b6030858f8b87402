// remainder_guarded.cu -- a divisor from the input may be zero, and a guard sees to it
//
// twin: remainder_by_zero
// launch: grid=2 block=64
// arguments: out int y 128; in int x 128 permutation
// result: y = np.where(x % 3 == 0, -1, 100 % np.maximum(x % 3, 1))

extern "C" __global__ void remainder_guarded(int* y, const int* x)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int divisor = x[i] % 3;
    y[i] = divisor != 0 ? 100 % divisor : -1;
}
