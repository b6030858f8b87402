// partial_tile_padded.cu -- the last block's tile is padded with zeros
//
// twin: partial_tile_summed_whole
// launch: grid=4 block=64
// arguments: out float y 4; in float x 250 integers; int n=250
// result: y = np.append(x, np.zeros(6)).reshape(4, 64).sum(axis=1)

extern "C" __global__ void partial_tile_padded(float* y, const float* x, int n)
{
    __shared__ float tile[64];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (i < n) {
        tile[t] = x[i];
    }
    else {
        tile[t] = 0.0f;
    }
    __syncthreads();
    if (t == 0) {
        float sum = 0.0f;
        for (int k = 0; k < 64; ++k) {
            sum += tile[k];
        }
        y[blockIdx.x] = sum;
    }
}
