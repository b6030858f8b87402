// radix_sort_block.cu -- one bit after another: zeros to the front by a scan of ballots
extern "C" __global__ void radix_sort_block(unsigned* keys, int bits)
{
    extern __shared__ unsigned cells[];
    __shared__ int sums[32];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, warps = blockDim.x / 32;
    unsigned key = keys[blockIdx.x * blockDim.x + t];
    for (int bit = 0; bit < bits; ++bit) {
        const bool zero = !(key >> bit & 1);
        const unsigned votes = __ballot_sync(0xffffffff, zero);
        if (lane == 0) sums[warp] = __popc(votes);
        __syncthreads();
        int before = 0, zeros = 0;
        for (int w = 0; w < warps; ++w) {
            if (w < warp) before += sums[w];
            zeros += sums[w];
        }
        const int rank = before + __popc(votes & ((1u << lane) - 1));
        cells[zero ? rank : zeros + t - rank] = key;
        __syncthreads();
        key = cells[t];
        __syncthreads();
    }
    keys[blockIdx.x * blockDim.x + t] = key;
}
