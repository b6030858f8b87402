// union_find.cu -- components of a graph in one block: roots hooked by atomicMin, paths halved
extern "C" __global__ void union_find(int* parent, const int2* edges, int vertices, int count)
{
    __shared__ int label[512];
    __shared__ int changed;
    for (int v = threadIdx.x; v < vertices; v += blockDim.x) label[v] = v;
    do {
        __syncthreads();
        if (threadIdx.x == 0) changed = 0;
        __syncthreads();
        for (int e = threadIdx.x; e < count; e += blockDim.x) {
            int2 edge = edges[e];
            int a = label[edge.x], b = label[edge.y];
            if (a != b) {
                atomicMin(&label[max(a, b)], min(a, b));
                atomicMin(&label[edge.x], min(a, b));
                atomicMin(&label[edge.y], min(a, b));
                changed = 1;
            }
        }
        __syncthreads();
    } while (changed);
    for (int v = threadIdx.x; v < vertices; v += blockDim.x) {
        int root = label[v];
        while (root != label[root]) root = label[root];
        parent[v] = root;
    }
}
