// hook.cu -- connected components: the root of a pair becomes the smaller one
extern "C" __global__ void hook(int* parent, const int* from, const int* to, int* changed,
                                int edges)
{
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= edges) return;
    const int low = min(from[e], to[e]), high = max(from[e], to[e]);
    if (low != high && atomicMin(&parent[high], low) > low) atomicExch(changed, 1);
}
