// bits_set_by_ballot.cu -- a word of 32 bits by a ballot
//
// twin: bits_set_by_plain_or
// launch: grid=2 block=64
// arguments: inout unsigned words 4 zeros; in float x 128 uniform
// result: words = np.packbits(x > 0, bitorder="little").view(np.uint32)

extern "C" __global__ void bits_set_by_ballot(unsigned* words, const float* x)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned bits = __ballot_sync(0xffffffffu, x[i] > 0.0f);
    if (i % 32 == 0) words[i / 32] = bits;
}
