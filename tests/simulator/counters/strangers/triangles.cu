// triangles.cu -- triangles of a graph: a warp a vertex intersects sorted lists
extern "C" __global__ void triangles(const int* start, const int* edge, unsigned* total, int n)
{
    const int u = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (u >= n) return;
    unsigned count = 0;
    for (int k = start[u] + lane; k < start[u + 1]; k += 32) {
        const int v = edge[k];
        if (v <= u) continue;
        int a = start[u], b = start[v];
        while (a < start[u + 1] && b < start[v + 1]) {
            if (edge[a] < edge[b]) ++a;
            else if (edge[a] > edge[b]) ++b;
            else {
                count += edge[a] > v;
                ++a, ++b;
            }
        }
    }
    for (int d = 16; d > 0; d /= 2) count += __shfl_down_sync(0xffffffffu, count, d);
    if (lane == 0 && count > 0) atomicAdd(total, count);
}
