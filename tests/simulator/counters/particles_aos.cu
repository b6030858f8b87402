// particles_aos.cu -- an array of structures: each field is three cells away from the neighbour's
struct Particle { float x, y, z; };

extern "C" __global__ void particles_aos(Particle* p, float dt, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    p[i].x += dt * p[i].y;
    p[i].z = 0.0f;
}
