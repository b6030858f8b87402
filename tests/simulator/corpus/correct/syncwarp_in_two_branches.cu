// syncwarp_in_two_branches.cu -- each half of a warp calls __syncwarp() in a branch of its own
//
// twin: syncwarp_once_for_some
// launch: grid=1 block=32
// arguments: out float y 32; in float x 32 uniform
// result: y = np.concatenate([x[:16], x[:16]])

extern "C" __global__ void syncwarp_in_two_branches(float* y, const float* x)
{
    __shared__ float s[32];
    const int t = threadIdx.x;
    if (t < 16) {
        s[t] = x[t];
        __syncwarp();
        y[t] = x[t];
    }
    if (t >= 16) {
        __syncwarp();
        y[t] = s[t - 16];
    }
}
