// constant_table.cu -- a look-up in constant memory: STRIDE 0 is one word for all lanes, others differ from lane to lane
#ifndef STRIDE
#define STRIDE 0
#endif
__constant__ float table[1024];

extern "C" __global__ void constant_table(float* out, int first, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = table[(first + i * STRIDE) % 1024];
}
