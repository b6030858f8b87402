// shuffle_partial_mask.cu -- the last warp has 18 lanes: a ballot names those that take part
//
// launch: grid=1 block=50
// arguments: out float y 50; in float x 50 uniform
// result: y = np.concatenate([x[:32][::-1], x[32:][::-1]])

extern "C" __global__ void shuffle_partial_mask(float* y, const float* x)
{
    const int t = threadIdx.x, lane = t % 32;
    const int lanes = min(32, int(blockDim.x) - t / 32 * 32);
    const unsigned mask = lanes == 32 ? 0xffffffffu : (1u << lanes) - 1;
    y[t] = __shfl_sync(mask, x[t], lanes - 1 - lane);
}
