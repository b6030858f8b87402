// lanes_give_one_mask.cu -- lanes of one shuffle give the same mask
//
// twin: lanes_give_different_masks
// launch: grid=1 block=32
// arguments: out int y 32; in int x 32 below=100
// result: y = np.roll(x, -1)

extern "C" __global__ void lanes_give_one_mask(int* y, const int* x)
{
    const int lane = threadIdx.x;
    const unsigned mask = 0xffffffffu;
    y[lane] = __shfl_sync(mask, x[lane], (lane + 1) % 32);
}
