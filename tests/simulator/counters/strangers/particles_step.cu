// particles_step.cu -- an array of structures of 28 bytes, read and written whole
struct Particle {
    float x, y, z, vx, vy, vz, mass;
};

extern "C" __global__ void particles_step(Particle* p, int n, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle q = p[i];
    const float r2 = q.x * q.x + q.y * q.y + q.z * q.z + 0.01f;
    const float f = -q.mass / (r2 * sqrtf(r2));
    q.vx += f * q.x * dt;
    q.vy += f * q.y * dt;
    q.vz += f * q.z * dt;
    q.x += q.vx * dt;
    q.y += q.vy * dt;
    q.z += q.vz * dt;
    p[i] = q;
}
