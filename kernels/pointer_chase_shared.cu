// pointer_chase_shared.cu -- the same walk along a chain of indices in shared memory
//
// Computes   last[0] = the cell that is reached from cell `start` after `steps` steps along `next`
// Idea       As pointer_chase, but the chain lies in shared memory, so that each step waits for
//            shared memory and for nothing else.
// Arrays     last: int32, shape (1,). next: int32, shape (CELLS,), each value in [0, CELLS).
// Launch     block = (1, 1, 1); grid = (1, 1)
// Sizes      steps >= 0, 0 <= start < CELLS
// Memory     shared: CELLS * 4 bytes, static.
// Constants  CELLS by -D (default below).
// Reference  helpers.experiments.waiting.walk

#ifndef CELLS
#define CELLS 1024
#endif

extern "C" __global__ void pointer_chase_shared(int* last, const int* next, int start, int steps)
{
    __shared__ int chain[CELLS];
    for (int i = 0; i < CELLS; ++i) {
        chain[i] = next[i];
    }

    // One thread alone reads what it has written itself: no barrier is needed.
    int cell = start;
    for (int step = 0; step < steps; ++step) {
        cell = chain[cell];
    }
    last[0] = cell;
}
