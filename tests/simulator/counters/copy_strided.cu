// copy_strided.cu -- each lane reads STRIDE cells on from its neighbour, from cell OFFSET on; ELEMENT is the type of a cell
#ifndef ELEMENT
#define ELEMENT float
#endif
#ifndef STRIDE
#define STRIDE 1
#endif
#ifndef OFFSET
#define OFFSET 0
#endif

extern "C" __global__ void copy_strided(ELEMENT* out, const ELEMENT* in, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i * STRIDE + OFFSET];
}
