// waves_of_queue.cu -- breadth-first levels of a small graph by one block: queues in shared memory
extern "C" __global__ void waves_of_queue(int* level, const int* starts, const int* edges,
    int vertices, int source)
{
    extern __shared__ int queue[];
    __shared__ int count, following;
    int* next = queue + vertices;
    for (int v = threadIdx.x; v < vertices; v += blockDim.x) level[v] = v == source ? 0 : -1;
    if (threadIdx.x == 0) { queue[0] = source; count = 1; following = 0; }
    __syncthreads();
    int* now = queue;
    for (int depth = 1; count > 0; ++depth) {
        for (int k = threadIdx.x; k < count; k += blockDim.x)
            for (int e = starts[now[k]]; e < starts[now[k] + 1]; ++e)
                if (atomicCAS(&level[edges[e]], -1, depth) == -1) next[atomicAdd(&following,
                    1)] = edges[e];
        __syncthreads();
        int* held = now;
        now = next;
        next = held;
        if (threadIdx.x == 0) { count = following; following = 0; }
        __syncthreads();
    }
}
