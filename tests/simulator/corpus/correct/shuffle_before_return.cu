// shuffle_before_return.cu -- neighbours trade values before any lane returns
//
// twin: shuffle_from_returned_lane
// launch: grid=1 block=32
// arguments: out int y 16; in int x 32 below=100
// result: y = x[1::2]

extern "C" __global__ void shuffle_before_return(int* y, const int* x)
{
    const int lane = threadIdx.x;
    const int other = __shfl_xor_sync(0xffffffffu, x[lane], 1);
    if (lane % 2 == 1) {
        return;
    }
    y[lane / 2] = other;
}
