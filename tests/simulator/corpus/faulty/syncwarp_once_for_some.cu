// syncwarp_once_for_some.cu -- WRONG ON PURPOSE: half of a warp calls __syncwarp() twice, the other half once
//
// fault: mask
// launch: grid=1 block=32
// arguments: out float y 32; in float x 32 uniform

extern "C" __global__ void syncwarp_once_for_some(float* y, const float* x)
{
    __shared__ float s[32];
    const int t = threadIdx.x;
    s[t] = x[t];
    __syncwarp();
    float v = s[t];
    if (t < 16) {
        v += s[t + 16];
        __syncwarp();
        s[t] = v;
    }
    __syncwarp(); // <- here
    y[t] = s[t];
}
