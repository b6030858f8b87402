// spheres_traced.cu -- rays against spheres in constant memory
struct Sphere { float r, b, g, radius, x, y, z; };
__constant__ Sphere spheres[12];
extern "C" __global__ void spheres_traced(uchar4* image, int dim, int count)
{
    const int x = threadIdx.x + blockIdx.x * blockDim.x, y = threadIdx.y + blockIdx.y * blockDim.y;
    if (x >= dim || y >= dim) return;
    const float ox = x - dim / 2, oy = y - dim / 2;
    float r = 0, g = 0, b = 0, nearest = -2e10f;
    for (int i = 0; i < count; ++i) {
        const float dx = ox - spheres[i].x, dy = oy - spheres[i].y, radius = spheres[i].radius;
        if (dx * dx + dy * dy < radius * radius) {
            const float dz = sqrtf(radius * radius - dx * dx - dy * dy), shade = dz / radius;
            if (dz + spheres[i].z > nearest) {
                r = spheres[i].r * shade; g = spheres[i].g * shade; b = spheres[i].b * shade;
                nearest = dz + spheres[i].z;
            }
        }
    }
    image[y * dim + x] = make_uchar4((int)(r * 255), (int)(g * 255), (int)(b * 255), 255);
}
