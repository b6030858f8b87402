// ballot_compact.cu -- keeps the positive cells of a block in their order: ballots, counts of bits,
// a scan of the warps
extern "C" __global__ void ballot_compact(int* out, int* counts, const int* in, int n)
{
    __shared__ int warp_count[33];
    int t = threadIdx.x, lane = t % warpSize, w = t / warpSize;
    int i = blockIdx.x * blockDim.x + t;
    int v = i < n ? in[i] : -1;
    bool keep = v > 0;
    unsigned ballot = __ballot_sync(0xffffffffu, keep);
    int before = __popc(ballot & ((1u << lane) - 1));
    if (lane == 0) warp_count[w] = __popc(ballot);
    __syncthreads();
    if (t == 0) {
        int sum = 0;
        for (int k = 0; k < blockDim.x / warpSize; k++) {
            int c = warp_count[k];
            warp_count[k] = sum;
            sum += c;
        }
        counts[blockIdx.x] = sum;
    }
    __syncthreads();
    if (keep) out[blockIdx.x * blockDim.x + warp_count[w] + before] = v;
}
