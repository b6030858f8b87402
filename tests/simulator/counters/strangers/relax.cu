// relax.cu -- a step of Bellman and Ford: the shortest ways get shorter by atomicMin
extern "C" __global__ void relax(const int* start, const int* edge, const int* weight,
                                 const int* now, int* next, int* changed, int n)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n) return;
    for (int k = start[v]; k < start[v + 1]; ++k) {
        const int reach = now[v] + weight[k];
        if (reach < atomicMin(&next[edge[k]], reach)) *changed = 1;
    }
}
