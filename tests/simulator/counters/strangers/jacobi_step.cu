// jacobi_step.cu -- one step from one array to another
extern "C" __global__ void jacobi_step(const float *a, float *b, int h, int w)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    int p = y * w + x;
    if (x == 0 || y == 0 || x == w - 1 || y == h - 1) { b[p] = a[p]; return; }
    b[p] = 0.25f * (a[p - 1] + a[p + 1] + a[p - w] + a[p + w]);
}
