// syncwarp_in_tree.cu -- WRONG ON PURPOSE: fewer lanes come to __syncwarp() in each round of a sum, it names all
//
// fault: mask
// launch: grid=1 block=32
// arguments: out float y 1; in float x 32 uniform

extern "C" __global__ void syncwarp_in_tree(float* y, const float* x)
{
    __shared__ float s[32];
    const int t = threadIdx.x;
    s[t] = x[t];
    __syncwarp();
    for (int stride = 16; stride > 0; stride /= 2) {
        if (t < stride) {
            s[t] += s[t + stride];
            __syncwarp(); // <- here
        }
    }
    if (t == 0) y[0] = s[0];
}
