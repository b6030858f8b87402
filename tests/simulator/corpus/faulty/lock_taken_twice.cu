// lock_taken_twice.cu -- WRONG ON PURPOSE: a thread that holds the lock tries to take it again
//
// fault: runaway
// launch: grid=4 block=1
// arguments: inout int sum 1 zeros; inout int lock 1 zeros; in int x 4 below=100

extern "C" __global__ void lock_taken_twice(int* sum, int* lock, const int* x)
{
    while (atomicCAS(lock, 0, 1) != 0) { // <- here
    } // <- here
    while (atomicCAS(lock, 0, 1) != 0) { // <- here
    } // <- here
    __threadfence();
    *static_cast<volatile int*>(sum) += x[blockIdx.x];
    __threadfence();
    atomicExch(lock, 0);
}
