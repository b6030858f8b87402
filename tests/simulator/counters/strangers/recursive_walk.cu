// recursive_walk.cu -- a recursive function: sums of a binary tree in an array
__device__ int depth_first(const int* tree, int node, int n, int& visited)
{
    if (node >= n || tree[node] < 0) return 0;
    visited++;
    int left = depth_first(tree, 2 * node + 1, n, visited);
    int right = depth_first(tree, 2 * node + 2, n, visited);
    return tree[node] + max(left, right);
}

extern "C" __global__ void recursive_walk(int2* out, const int* trees, int n, int count)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < count) {
        int visited = 0;
        int sum = depth_first(trees + t * n, 0, n, visited);
        out[t] = make_int2(sum, visited);
    }
}
