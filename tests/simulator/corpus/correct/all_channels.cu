// all_channels.cu -- every output channel
//
// twin: channel_left_out
// launch: grid=1 block=64
// arguments: out float y 4x64; in float x 64 uniform; in float bias 4 uniform
// result: y = x + bias[:, None]

extern "C" __global__ void all_channels(float* y, const float* x, const float* bias)
{
    const int t = threadIdx.x;
    for (int m = 0; m < 4; ++m) {
        y[m * 64 + t] = x[t] + bias[m];
    }
}
