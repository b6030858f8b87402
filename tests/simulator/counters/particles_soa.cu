// particles_soa.cu -- a structure of arrays: each field lies beside the neighbour's
extern "C" __global__ void particles_soa(float* x, const float* y, float* z, float dt, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    x[i] += dt * y[i];
    z[i] = 0.0f;
}
