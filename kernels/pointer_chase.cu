// pointer_chase.cu -- one thread follows a chain of indices: the latency of memory
//
// Computes   last[0] = the cell that is reached from cell `start` after `steps` steps along `next`
// Idea       Each load's address is the value of the load before it, so a load cannot start until
//            the one before it has ended. The time of the whole walk over the number of steps is
//            the latency of one load. The length of the chain decides which memory answers.
// Arrays     last: int32, shape (1,). next: int32, shape (n,), each value in [0, n).
//            Must not alias.
// Launch     block = (1, 1, 1); grid = (1, 1): a second thread would only disturb the measurement.
// Sizes      any n >= 1, steps >= 0, 0 <= start < n
// Memory     no shared, no constant.
// Constants  none.
// Reference  helpers.experiments.waiting.walk

extern "C" __global__ void pointer_chase(int* last, const int* next, int start, int steps)
{
    int cell = start;
    for (int step = 0; step < steps; ++step) {
        cell = next[cell];
    }
    last[0] = cell;   // without this the walk would have no result, and nvcc would leave it out
}
