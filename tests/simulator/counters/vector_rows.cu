// vector_rows.cu -- rows of VECTOR (float2 or float4) through a tile: written along rows, read down columns
#ifndef VECTOR
#define VECTOR float4
#endif
#ifndef PAD
#define PAD 0
#endif

extern "C" __global__ void vector_rows(VECTOR* out, const VECTOR* in, int n)
{
    __shared__ VECTOR tile[8][32 + PAD];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    if (i < n) tile[t / 32][t % 32] = in[i];
    __syncthreads();
    if (i < n) out[i] = tile[t % 8][t / 8];
}
