// counter_atomic.cu -- a counter of positive values
//
// twin: counter_plain_increment
// launch: grid=4 block=64
// arguments: inout int count 1 zeros; in float x 250 uniform; int n=250
// result: count = [np.count_nonzero(x > 0)]

extern "C" __global__ void counter_atomic(int* count, const float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 0.0f) {
        atomicAdd(count, 1);
    }
}
