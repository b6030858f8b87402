// jacobi3d.cu -- one step of Jacobi's method on a 3D grid, planes walked in z with registers
extern "C" __global__ void jacobi3d(float* out, const float* in, int nx, int ny, int nz, float c)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i >= nx - 1 || j >= ny - 1) return;
    int plane = nx * ny, at = j * nx + i;
    float below = in[at], here = in[at + plane];
    for (int k = 1; k < nz - 1; k++) {
        at += plane;
        float above = in[at + plane];
        float sum = in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] + below + above;
        out[at] = here + c * (sum - 6.0f * here);
        below = here;
        here = above;
    }
}
