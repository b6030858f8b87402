// bits_set_by_plain_or.cu -- WRONG ON PURPOSE: 32 threads set their bits in one word by reading and writing it back
//
// fault: race
// array: words
// launch: grid=2 block=64
// arguments: inout unsigned words 4 zeros; in float x 128 uniform

extern "C" __global__ void bits_set_by_plain_or(unsigned* words, const float* x)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i] > 0.0f) words[i / 32] |= 1u << i % 32; // <- here
}
