// ising_step.cu -- a step of the Ising model on the cells of one colour
extern "C" __global__ void ising_step(signed char* spin, const float* chance, int n, int colour,
                                      float beta)
{
    const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n || (i + j) % 2 != colour) return;
    const int up = (i + n - 1) % n, down = (i + 1) % n, left = (j + n - 1) % n, right = (j + 1) % n;
    const int around =
        spin[up * n + j] + spin[down * n + j] + spin[i * n + left] + spin[i * n + right];
    const int energy = 2 * spin[i * n + j] * around;
    if (energy <= 0 || chance[i * n + j] < expf(-beta * energy)) spin[i * n + j] = -spin[i * n + j];
}
