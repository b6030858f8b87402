// red_black.cu -- half of a Gauss-Seidel step in place: the cells of one colour
extern "C" __global__ void red_black(float* x, int n, int colour)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < 1 || j < 1 || i >= n - 1 || j >= n - 1) return;
    if ((i + j) % 2 == colour)
        x[i * n + j] = 0.25f * (x[(i - 1) * n + j] + x[(i + 1) * n + j] + x[i * n + j - 1] +
                                x[i * n + j + 1]);
}
