// bfs_step.cu -- a step of breadth-first search: a thread for each vertex of the frontier
extern "C" __global__ void bfs_step(int* distance, bool* next, const bool* frontier,
                                    const int* start, const int* edges, int vertices, int depth)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= vertices) return;
    if (!frontier[v]) return;
    for (int e = start[v]; e < start[v + 1]; e++) {
        int u = edges[e];
        if (atomicCAS(&distance[u], -1, depth) == -1) next[u] = true;
    }
}
