// pagerank_pull.cu -- a step of PageRank: a vertex reads the ranks of its sources
extern "C" __global__ void pagerank_pull(float* next, const int* start, const int* source,
                                         const float* rank, const int* out_degree, int n)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    float sum = 0;
    for (int k = start[v]; k < start[v + 1]; ++k) {
        const int u = source[k];
        sum += rank[u] / out_degree[u];
    }
    next[v] = 0.15f / n + 0.85f * sum;
}
