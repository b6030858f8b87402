// bitonic_of_a_warp.cu -- each warp sorts 64 keys, two a lane, by shuffles
extern "C" __global__ void bitonic_of_a_warp(int* keys, int n)
{
    const int lane = threadIdx.x & 31, base = (blockIdx.x * blockDim.x + threadIdx.x - lane) * 2;
    int a = base + lane < n ? keys[base + lane] : 0x7fffffff;
    int b = base + 32 + lane < n ? keys[base + 32 + lane] : 0x7fffffff;
    for (int k = 2; k <= 32; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            const int pa = __shfl_xor_sync(~0u, a, j), pb = __shfl_xor_sync(~0u, b, j);
            const bool up = (lane & k) == 0 || k == 32, low = (lane & j) == 0;
            a = (up == low) ? min(a, pa) : max(a, pa);
            const bool upward = k == 32 ? false : up;
            b = (upward == low) ? min(b, pb) : max(b, pb);
        }
    const int least = min(a, b), most = max(a, b);
    a = least;
    b = most;
    for (int j = 16; j > 0; j /= 2) {
        const int pa = __shfl_xor_sync(~0u, a, j), pb = __shfl_xor_sync(~0u, b, j);
        a = (lane & j) == 0 ? min(a, pa) : max(a, pa);
        b = (lane & j) == 0 ? min(b, pb) : max(b, pb);
    }
    if (base + lane < n) keys[base + lane] = a;
    if (base + 32 + lane < n) keys[base + 32 + lane] = b;
}
