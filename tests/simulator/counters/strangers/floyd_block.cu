// floyd_block.cu -- all shortest ways of a graph of one tile, in shared memory
#define V 24
extern "C" __global__ void floyd_block(int* distance)
{
    __shared__ int d[V][V];
    const int i = threadIdx.y, j = threadIdx.x;
    int* mine = distance + blockIdx.x * V * V;
    d[i][j] = mine[i * V + j];
    for (int k = 0; k < V; ++k) {
        __syncthreads();
        const int way = d[i][k] + d[k][j];
        __syncthreads();
        if (way < d[i][j]) d[i][j] = way;
    }
    mine[i * V + j] = d[i][j];
}
