// odd_even_exchange.cu -- lanes of a warp trade places through shared memory, with __syncwarp around each trade
//
// launch: grid=1 block=64
// arguments: inout int x 64 below=1000
// result: x = np.sort(x.reshape(2, 32), axis=1).ravel()

extern "C" __global__ void odd_even_exchange(int* x)
{
    __shared__ int cells[64];
    const int t = threadIdx.x, lane = t % 32;
    cells[t] = x[t];
    __syncwarp();
    for (int round = 0; round < 32; ++round) {
        if (lane % 2 == round % 2 && lane + 1 < 32 && cells[t] > cells[t + 1]) {
            const int held = cells[t];
            cells[t] = cells[t + 1];
            cells[t + 1] = held;
        }
        __syncwarp();
    }
    x[t] = cells[t];
}
