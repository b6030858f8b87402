// pointer_outlives_block.cu -- WRONG ON PURPOSE: the pointer to the smallest value outlives the loop's variable
//
// fault: out-of-bounds
// array: value
// launch: grid=2 block=64
// arguments: out float y 128; in float x 128x8 uniform; int n=8

extern "C" __global__ void pointer_outlives_block(float* y, const float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float* smallest = nullptr;
    for (int k = 0; k < n; ++k) {
        const float value = fabsf(x[i * n + k]);
        if (smallest == nullptr || value < *smallest) { // <- here
            smallest = &value;
        }
    }
    y[i] = *smallest; // <- here
}
