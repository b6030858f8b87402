// count_peers.cu -- one atomic for all lanes with the same value
extern "C" __global__ void count_peers(const unsigned char *x, int *bins, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned in = __ballot_sync(~0u, i < n);
    if (i < n) {
        unsigned peers = __match_any_sync(in, x[i]);
        if ((threadIdx.x & 31) == __ffs(peers) - 1)
            atomicAdd(&bins[x[i]], __popc(peers));
    }
}
