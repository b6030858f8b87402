// local_window.cu -- the median of three cells, sorted in a thread's own array
//
// twin: local_window_too_short
// launch: grid=2 block=64
// arguments: out float y 100; in float x 102 uniform; int n=100
// result: y = np.median(np.lib.stride_tricks.sliding_window_view(x, 3), axis=1)

extern "C" __global__ void local_window(float* y, const float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float window[3];
        for (int k = 0; k < 3; ++k) {
            window[k] = x[i + k];
        }
        for (int pass = 0; pass < 2; ++pass) {
            for (int k = 0; k < 2; ++k) {
                const float low = fminf(window[k], window[k + 1]);
                window[k + 1] = fmaxf(window[k], window[k + 1]);
                window[k] = low;
            }
        }
        y[i] = window[1];
    }
}
