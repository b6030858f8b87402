// heat_planes.cu -- a stencil that walks through planes and keeps two values
extern "C" __global__ void heat_planes(const float *a, float *b, int nx, int ny, int nz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1) return;
    int plane = nx * ny, p = y * nx + x + plane;
    float below = a[p - plane], here = a[p];
    for (int z = 1; z < nz - 1; z++, p += plane) {
        float above = a[p + plane];
        b[p] = (below + above + a[p - 1] + a[p + 1] + a[p - nx] + a[p + nx]) / 6;
        below = here; here = above;
    }
}
