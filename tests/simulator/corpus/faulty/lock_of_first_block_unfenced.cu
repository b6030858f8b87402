// lock_of_first_block_unfenced.cu -- WRONG ON PURPOSE: one holder of the lock has no fence after it takes the lock
//
// fault: race
// array: sum
// launch: grid=4 block=1
// arguments: inout int sum 1 zeros; inout int lock 1 zeros; in int x 4 below=100

extern "C" __global__ void lock_of_first_block_unfenced(int* sum, int* lock, const int* x)
{
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    if (blockIdx.x != 0) {
        __threadfence();
    }
    *static_cast<volatile int*>(sum) += x[blockIdx.x]; // <- here
    __threadfence();
    atomicExch(lock, 0);
}
