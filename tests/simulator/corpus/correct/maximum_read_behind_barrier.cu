// maximum_read_behind_barrier.cu -- one thread finds the largest value, and the others wait for it
//
// twin: maximum_read_too_early
// launch: grid=1 block=64
// arguments: out float y 64; in float x 64 uniform
// compare: within 1e-6
// result: y = np.exp(x - x.max())

extern "C" __global__ void maximum_read_behind_barrier(float* y, const float* x)
{
    __shared__ float largest;
    const int t = threadIdx.x;
    if (t == 0) {
        largest = x[0];
        for (int k = 1; k < 64; ++k) {
            largest = fmaxf(largest, x[k]);
        }
    }
    __syncthreads();
    y[t] = expf(x[t] - largest);
}
