// guard_at_store.cu -- threads past the end load their share of the tile; only the store is guarded
//
// twin: tile_share_of_returned_threads
// launch: grid=4 block=64
// arguments: out float y 230; in float x 256 uniform; int n=230
// result: y = x[:230] + np.concatenate([p[::-1] for p in np.split(x, 4)])[:230]

extern "C" __global__ void guard_at_store(float* y, const float* x, int n)
{
    __shared__ float tile[64];
    const int t = threadIdx.x, i = blockIdx.x * 64 + t;
    tile[t] = x[i];
    __syncthreads();
    if (i < n) {
        y[i] = tile[t] + tile[63 - t];
    }
}
