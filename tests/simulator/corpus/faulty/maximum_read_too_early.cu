// maximum_read_too_early.cu -- WRONG ON PURPOSE: one thread finds the largest value, the others do not wait for it
//
// fault: race
// array: largest
// launch: grid=1 block=64
// arguments: out float y 64; in float x 64 uniform

extern "C" __global__ void maximum_read_too_early(float* y, const float* x)
{
    __shared__ float largest;
    const int t = threadIdx.x;
    if (t == 0) {
        largest = x[0];
        for (int k = 1; k < 64; ++k) {
            largest = fmaxf(largest, x[k]); // <- here
        }
    }
    y[t] = expf(x[t] - largest); // <- here
}
