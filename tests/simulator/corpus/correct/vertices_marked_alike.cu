// vertices_marked_alike.cu -- one step of a breadth-first search: all that find a vertex unvisited store the same
//
// twin: vertices_claimed_plainly
// launch: grid=4 block=64
// arguments: inout unsigned level 200 below=3; inout unsigned again 1 zeros; in int ends 200x4 below=200; unsigned depth=1
// result: level = np.where((level == 0) & np.isin(np.arange(200), ends[level == 1]), 3, level)
// result: again = [1]

extern "C" __global__ void vertices_marked_alike(unsigned* level, unsigned* again, const int* ends, unsigned depth)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= 200 || level[v] != depth) {
        return;
    }
    for (int e = 0; e < 4; ++e) {
        const int w = ends[v * 4 + e];
        if (level[w] == 0) {
            level[w] = depth + 2;
            *again = 1;
        }
    }
}
