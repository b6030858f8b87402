// syncwarp_in_branch.cu -- WRONG ON PURPOSE: half of a warp waits in a branch for the other half, which goes round it
//
// fault: mask
// launch: grid=1 block=32
// arguments: out float y 32; in float x 32 uniform

extern "C" __global__ void syncwarp_in_branch(float* y, const float* x)
{
    __shared__ float s[32];
    const int t = threadIdx.x;
    s[t] = x[t];
    __syncwarp();
    float v = s[t];
    if (t < 16) {
        v += s[t + 16];
        __syncwarp(); // <- here
    }
    y[t] = v;
}
