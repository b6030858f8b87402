// syncwarp_of_own_half.cu -- half of a warp waits in a branch, for itself
//
// twin: syncwarp_in_branch
// launch: grid=1 block=32
// arguments: out float y 32; in float x 32 uniform
// result: y = np.concatenate([x[15::-1], np.zeros(16)]) + x[::-1]

extern "C" __global__ void syncwarp_of_own_half(float* y, const float* x)
{
    __shared__ float s[32];
    const int t = threadIdx.x;
    s[t] = x[t];
    if (t < 16) {
        __syncwarp(0xffff);
        y[t] = s[15 - t];
        __syncwarp(0xffff);
    } else {
        y[t] = 0;
    }
    __syncwarp();
    y[t] += s[31 - t];
}
