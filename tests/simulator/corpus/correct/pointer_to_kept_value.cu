// pointer_to_kept_value.cu -- a pointer to a variable that lives as long as the loop
//
// twin: pointer_to_last_turn
// launch: grid=2 block=64
// arguments: out float y 128; in float x 128x8 uniform; int n=8
// compare: within 1e-5
// result: y = np.maximum(2 * np.diff(x, axis=1), 0).sum(axis=1)

extern "C" __global__ void pointer_to_kept_value(float* y, const float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float* last = nullptr;
    float kept = 0.0f;
    float rise = 0.0f;
    for (int k = 0; k < n; ++k) {
        const float value = 2.0f * x[i * n + k];
        if (last != nullptr) {
            rise += fmaxf(value - *last, 0.0f);
        }
        kept = value;
        last = &kept;
    }
    y[i] = rise;
}
