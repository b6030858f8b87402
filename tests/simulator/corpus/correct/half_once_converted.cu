// half_once_converted.cu -- half inputs, converted once and summed in float
//
// launch: grid=1 block=64
// arguments: out float y 64; in half x 64x16 integers; in half w 16 integers
// result: y = x.astype(np.float64) @ w.astype(np.float64)

#include <cuda_fp16.h>

extern "C" __global__ void half_once_converted(float* y, const __half* x, const __half* w)
{
    const int t = threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < 16; ++k) {
        sum += __half2float(x[t * 16 + k]) * __half2float(w[k]);
    }
    y[t] = sum;
}
