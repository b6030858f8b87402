// lanes_give_different_masks.cu -- WRONG ON PURPOSE: lanes of one shuffle give different masks
//
// fault: mask
// also: shuffle
// launch: grid=1 block=32
// arguments: out int y 32; in int x 32 below=100

extern "C" __global__ void lanes_give_different_masks(int* y, const int* x)
{
    const int lane = threadIdx.x;
    const unsigned mask = lane < 16 ? 0x0000ffffu : 0xffffffffu;
    y[lane] = __shfl_sync(mask, x[lane], (lane + 1) % 32); // <- here
}
