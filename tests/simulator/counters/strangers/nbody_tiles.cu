// nbody_tiles.cu -- attraction of bodies, read in tiles of float4
__device__ float3 pull(float4 bi, float4 bj, float3 ai)
{
    const float3 r = make_float3(bj.x - bi.x, bj.y - bi.y, bj.z - bi.z);
    const float d2 = r.x * r.x + r.y * r.y + r.z * r.z + 0.01f;
    const float inverse = rsqrtf(d2), s = bj.w * inverse * inverse * inverse;
    ai.x += r.x * s;
    ai.y += r.y * s;
    ai.z += r.z * s;
    return ai;
}
extern "C" __global__ void nbody_tiles(float4* a, const float4* position, int n)
{
    extern __shared__ float4 tile[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 mine = i < n ? position[i] : make_float4(0, 0, 0, 0);
    float3 acc = {0.0f, 0.0f, 0.0f};
    for (int first = 0; first < n; first += blockDim.x) {
        const int j = first + threadIdx.x;
        tile[threadIdx.x] = j < n ? position[j] : make_float4(0, 0, 0, 0);
        __syncthreads();
        for (int k = 0; k < blockDim.x; ++k) acc = pull(mine, tile[k], acc);
        __syncthreads();
    }
    if (i < n) a[i] = make_float4(acc.x, acc.y, acc.z, 0);
}
