// shared_store.cu -- one shared store a thread, STRIDE cells of type ELEMENT on from its neighbour
#ifndef ELEMENT
#define ELEMENT float
#endif
#ifndef STRIDE
#define STRIDE 1
#endif
#define CELLS (16384 / sizeof(ELEMENT))

extern "C" __global__ void shared_store(ELEMENT* out, const ELEMENT* in, int n)
{
    __shared__ ELEMENT tile[CELLS];
    const int t = threadIdx.x, mine = t * STRIDE % CELLS;
    tile[mine] = in[t];
    __syncthreads();
    out[t] = tile[mine];
}
