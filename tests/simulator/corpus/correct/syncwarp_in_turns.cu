// syncwarp_in_turns.cu -- odd and even lanes call __syncwarp() in turn, as often
//
// launch: grid=1 block=32
// arguments: out float y 32; in float x 32 uniform
// result: y = 3 * x

extern "C" __global__ void syncwarp_in_turns(float* y, const float* x)
{
    __shared__ float s[32];
    const int t = threadIdx.x;
    s[t] = x[t];
    __syncwarp();
    float v = 0;
    for (int k = 0; k < 6; ++k) {
        if (t % 2 == k % 2) {
            v += s[t];
            __syncwarp();
        }
    }
    y[t] = v;
}
