// vertices_claimed_plainly.cu -- WRONG ON PURPOSE: two threads may both find a vertex unvisited, and count it twice
//
// fault: race
// array: level
// launch: grid=4 block=64
// arguments: inout int level 200 below=3 minus=1; inout int count 1 zeros; in int ends 200x4 below=200; int depth=1

extern "C" __global__ void vertices_claimed_plainly(int* level, int* count, const int* ends, int depth)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= 200 || level[v] != depth) { // <- here
        return;
    }
    for (int e = 0; e < 4; ++e) {
        const int w = ends[v * 4 + e];
        if (level[w] == -1) { // <- here
            level[w] = depth + 1; // <- here
            atomicAdd(count, 1);
        }
    }
}
