// ldg_gather.cu -- const __restrict__ and __ldg: rows of an embedding added up
extern "C" __global__ void ldg_gather(float* __restrict__ out, const float* __restrict__ table,
                                      const int* __restrict__ words,
                                      const int* __restrict__ lengths, int longest, int width)
{
    const int sentence = blockIdx.x, d = threadIdx.x;
    const int length = __ldg(&lengths[sentence]);
    for (int c = d; c < width; c += blockDim.x) {
        float sum = 0.f;
        for (int k = 0; k < length; ++k) {
            int w = __ldg(&words[sentence * longest + k]);
            if (w < 0) continue;
            sum += __ldg(&table[w * width + c]);
        }
        out[sentence * width + c] = length ? sum / length : 0.f;
    }
}
