// pointer_within_block.cu -- right: the value that the pointer leads to is declared before the loop
//
// twin: pointer_outlives_block
// launch: grid=2 block=64
// arguments: out float y 128; in float x 128x8 uniform; int n=8
// result: y = np.abs(x).min(axis=1)

extern "C" __global__ void pointer_within_block(float* y, const float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float best = 0.0f;
    const float* smallest = nullptr;
    for (int k = 0; k < n; ++k) {
        const float value = fabsf(x[i * n + k]);
        const float* here = &value;
        if (smallest == nullptr || *here < *smallest) {
            best = *here;
            smallest = &best;
        }
    }
    y[i] = *smallest;
}
