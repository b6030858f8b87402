// nbody_float4.cu -- forces between all bodies, by tiles in shared memory
#define TILE 64
__device__ float3 pull(float4 a, float4 b, float3 acc)
{
    float dx = b.x - a.x, dy = b.y - a.y, dz = b.z - a.z;
    float r2 = dx * dx + dy * dy + dz * dz + 1e-2f;
    float inv = rsqrtf(r2);
    float s = b.w * inv * inv * inv;
    acc.x += dx * s; acc.y += dy * s; acc.z += dz * s;
    return acc;
}
extern "C" __global__ void nbody_float4(const float4 *body, float3 *out, int n)
{
    __shared__ float4 tile[TILE];
    int i = blockIdx.x * TILE + threadIdx.x;
    float4 me = i < n ? body[i] : make_float4(0, 0, 0, 0);
    float3 acc = make_float3(0, 0, 0);
    for (int first = 0; first < n; first += TILE) {
        int j = first + threadIdx.x;
        tile[threadIdx.x] = j < n ? body[j] : make_float4(0, 0, 0, 0);
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < TILE; k++)
            acc = pull(me, tile[k], acc);
        __syncthreads();
    }
    if (i < n) out[i] = acc;
}
