// barrier_in_common_branch.cu -- a barrier inside an if and a loop whose conditions are the same for the whole block
//
// launch: grid=3 block=64
// arguments: out float y 192; in float x 192 uniform; int rounds=3
// result: y = np.concatenate([x[:64], np.roll(x[64:128], -3), np.roll(x[128:], -3)])

extern "C" __global__ void barrier_in_common_branch(float* y, const float* x, int rounds)
{
    __shared__ float cells[64];
    const int t = threadIdx.x, i = blockIdx.x * 64 + t;
    float value = x[i];
    if (blockIdx.x > 0) {
        for (int k = 0; k < rounds; ++k) {
            cells[t] = value;
            __syncthreads();
            value = cells[(t + 1) % 64];
            __syncthreads();
        }
    }
    y[i] = value;
}
