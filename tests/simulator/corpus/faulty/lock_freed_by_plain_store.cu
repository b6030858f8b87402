// lock_freed_by_plain_store.cu -- WRONG ON PURPOSE: the store that frees the lock may be seen before the values that it guards
//
// fault: race
// launch: grid=8 block=32
// arguments: inout int best 1 zeros; inout int where 1 zeros; inout int lock 1 zeros; in int x 8 permutation

extern "C" __global__ void lock_freed_by_plain_store(volatile int* best, volatile int* where, int* lock, const int* x)
{
    if (threadIdx.x == 0) {
        while (atomicExch(lock, 1) != 0) { // <- here
        }
        __threadfence();
        if (x[blockIdx.x] >= *best) { // <- here
            *best = x[blockIdx.x]; // <- here
            *where = blockIdx.x; // <- here
        }
        *lock = 0; // <- here
    }
}
