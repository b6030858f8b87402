// floyd_step.cu -- one step of the shortest paths between all vertices
extern "C" __global__ void floyd_step(float *d, int n, int k)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && j < n) {
        float through = d[i * n + k] + d[k * n + j];
        if (through < d[i * n + j])
            d[i * n + j] = through;
    }
}
