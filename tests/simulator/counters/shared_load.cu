// shared_load.cu -- one shared load a thread, of cell INDEX, or STRIDE cells on from its neighbour; only lanes in ACTIVE
#ifndef ELEMENT
#define ELEMENT float
#endif
#ifndef STRIDE
#define STRIDE 1
#endif
#ifndef ACTIVE
#define ACTIVE 0xffffffffu
#endif
#ifndef INDEX
#define INDEX (t * STRIDE % CELLS)
#endif
#define CELLS (8192 / sizeof(ELEMENT))

extern "C" __global__ void shared_load(ELEMENT* out, const ELEMENT* in, int n)
{
    __shared__ ELEMENT tile[CELLS];
    const int t = threadIdx.x;
    for (int k = 0; k < CELLS; k += 64) tile[k + t] = in[k + t];
    __syncthreads();
    if (ACTIVE >> t % 32 & 1) out[t] = tile[INDEX];
}
