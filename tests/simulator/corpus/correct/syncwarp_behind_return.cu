// syncwarp_behind_return.cu -- threads behind the end store a zero and return; the mask still names them
//
// launch: grid=1 block=64
// arguments: out float y 64; in float x 64 uniform; int n=50
// result: y = np.where(np.arange(64) < n, np.repeat(x[::2], 2), 0)

extern "C" __global__ void syncwarp_behind_return(float* y, const float* x, int n)
{
    __shared__ float s[64];
    const int t = threadIdx.x;
    if (t >= n) {
        y[t] = 0;
        return;
    }
    s[t] = x[t];
    __syncwarp();
    y[t] = s[t & ~1];
}
