// vertices_claimed_by_cas.cu -- one step of a breadth-first search; whoever is first counts the vertex
//
// twin: vertices_claimed_plainly
// launch: grid=4 block=64
// arguments: inout int level 200 below=3 minus=1; inout int count 1 zeros; in int ends 200x4 below=200; int depth=1
// result: level = np.where((level == -1) & np.isin(np.arange(200), ends[level == 1]), 2, level)
// result: count = [((level == -1) & np.isin(np.arange(200), ends[level == 1])).sum()]

extern "C" __global__ void vertices_claimed_by_cas(int* level, int* count, const int* ends, int depth)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= 200 || level[v] != depth) {
        return;
    }
    for (int e = 0; e < 4; ++e) {
        const int w = ends[v * 4 + e];
        if (atomicCAS(&level[w], -1, depth + 1) == -1) {
            atomicAdd(count, 1);
        }
    }
}
