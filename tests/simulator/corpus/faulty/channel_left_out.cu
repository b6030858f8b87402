// channel_left_out.cu -- WRONG ON PURPOSE: the loop over output channels stops one short
//
// fault: unwritten
// array: y
// launch: grid=1 block=64
// arguments: out float y 4x64; in float x 64 uniform; in float bias 4 uniform

extern "C" __global__ void channel_left_out(float* y, const float* x, const float* bias)
{
    const int t = threadIdx.x;
    for (int m = 0; m < 3; ++m) {
        y[m * 64 + t] = x[t] + bias[m]; // <- here
    }
}
