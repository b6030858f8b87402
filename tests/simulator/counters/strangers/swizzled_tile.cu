// swizzled_tile.cu -- a transpose whose tile is swizzled by XOR instead of padded, uint4 stores
extern "C" __global__ void swizzled_tile(unsigned short* out, const unsigned short* in, int n)
{
    __shared__ unsigned short tile[64][64];
    int bx = blockIdx.x * 64, by = blockIdx.y * 64, t = threadIdx.x;
    for (int k = t; k < 64 * 8; k += blockDim.x) {
        int r = k / 8, c = k % 8;
        uint4 v = *(const uint4*)&in[(by + r) * n + bx + c * 8];
        *(uint4*)&tile[r][((c ^ (r & 7)) * 8)] = v;
    }
    __syncthreads();
    for (int k = t; k < 64 * 8; k += blockDim.x) {
        int r = k / 8, c = k % 8;
        union {
            uint4 v;
            unsigned short s[8];
        } u;
#pragma unroll
        for (int j = 0; j < 8; j++) u.s[j] = tile[c * 8 + j][((r / 8) ^ j) * 8 + r % 8];
        *(uint4*)&out[(bx + r) * n + by + c * 8] = u.v;
    }
}
