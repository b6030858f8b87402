// local_window_too_short.cu -- WRONG ON PURPOSE: a thread's own window of 5 cells takes a sixth
//
// fault: out-of-bounds
// array: window
// launch: grid=2 block=64
// arguments: out float y 100; in float x 102 uniform; int n=100

extern "C" __global__ void local_window_too_short(float* y, const float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float window[3];
        for (int k = 0; k < 3; ++k) {
            window[k] = x[i + k];
        }
        for (int pass = 0; pass < 2; ++pass) {
            for (int k = 0; k < 3; ++k) {
                const float low = fminf(window[k], window[k + 1]); // <- here
                window[k + 1] = fmaxf(window[k], window[k + 1]); // <- here
                window[k] = low;
            }
        }
        y[i] = window[1];
    }
}
