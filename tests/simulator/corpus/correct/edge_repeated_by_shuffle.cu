// edge_repeated_by_shuffle.cu -- sums of neighbours: lane 0 adds its own value, which repeats the edge
//
// launch: grid=1 block=32
// arguments: out int y 32; in int x 32 below=100
// result: y = x + np.concatenate([x[:1], x[:-1]])

extern "C" __global__ void edge_repeated_by_shuffle(int* y, const int* x)
{
    const int lane = threadIdx.x;
    int sum = x[lane];
    sum += __shfl_up_sync(0xffffffffu, sum, 1);
    y[lane] = sum;
}
