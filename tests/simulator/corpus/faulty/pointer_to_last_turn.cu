// pointer_to_last_turn.cu -- WRONG ON PURPOSE: a pointer keeps the value of the loop's last turn
//
// fault: out-of-bounds
// array: value
// launch: grid=2 block=64
// arguments: out float y 128; in float x 128x8 uniform; int n=8

extern "C" __global__ void pointer_to_last_turn(float* y, const float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float* last = nullptr;
    float rise = 0.0f;
    for (int k = 0; k < n; ++k) {
        const float value = 2.0f * x[i * n + k];
        if (last != nullptr) {
            rise += fmaxf(value - *last, 0.0f); // <- here
        }
        last = &value;
    }
    y[i] = rise;
}
