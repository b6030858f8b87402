// in_place_one_block.cu -- in place within one block, with a barrier between the reads and the stores
//
// twin: in_place_between_blocks
// launch: grid=1 block=256
// arguments: inout float x 250 integers; int n=250
// result: x = x + np.append(x[1:], 0)

extern "C" __global__ void in_place_one_block(float* x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float right = i + 1 < n ? x[i + 1] : 0.0f;
    __syncthreads();
    if (i < n) {
        x[i] += right;
    }
}
