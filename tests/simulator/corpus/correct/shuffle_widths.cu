// shuffle_widths.cu -- shuffles in groups of 8 lanes: the source wraps inside the group
//
// launch: grid=1 block=32
// arguments: out double y 32; in double x 32 uniform
// result: y = np.roll(x.reshape(4, 8), -3, axis=1).ravel() + x.reshape(4, 8)[:, :1].repeat(8, axis=1).ravel()

extern "C" __global__ void shuffle_widths(double* y, const double* x)
{
    const int lane = threadIdx.x;
    const double turned = __shfl_sync(0xffffffffu, x[lane], lane + 3, 8);
    const double first = __shfl_sync(0xffffffffu, x[lane], 0, 8);
    y[lane] = turned + first;
}
