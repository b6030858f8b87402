// bfs_queue.cu -- a step of breadth-first search, the next frontier in shared memory
#define ROOM 16
extern "C" __global__ void bfs_queue(const int* start, const int* edge, int* level,
                                     const int* frontier, int count, int* next, int* next_count,
                                     int depth)
{
    __shared__ int own[ROOM];
    __shared__ int own_count, base;
    if (threadIdx.x == 0) own_count = 0;
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        const int v = frontier[i];
        for (int k = start[v]; k < start[v + 1]; ++k) {
            const int u = edge[k];
            if (atomicCAS(&level[u], -1, depth) == -1) {
                const int at = atomicAdd(&own_count, 1);
                if (at < ROOM) {
                    own[at] = u;
                } else {
                    own_count = ROOM;
                    next[atomicAdd(next_count, 1)] = u;
                }
            }
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) base = atomicAdd(next_count, own_count);
    __syncthreads();
    for (int k = threadIdx.x; k < own_count; k += blockDim.x) next[base + k] = own[k];
}
