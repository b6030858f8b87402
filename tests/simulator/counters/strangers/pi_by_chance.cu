// pi_by_chance.cu -- xorshift points in a circle, counted by a vote of each warp
extern "C" __global__ void pi_by_chance(int* hits, unsigned* states, int points)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned s = states[t];
    int count = 0;
    for (int p = 0; p < points; ++p) {
        s ^= s << 13; s ^= s >> 17; s ^= s << 5;
        const float x = (s & 0xffff) / 65536.0f, y = (s >> 16) / 65536.0f;
        count += __popc(__ballot_sync(0xffffffff, x * x + y * y < 1.0f));
    }
    states[t] = s;
    if (threadIdx.x % 32 == 0) hits[t / 32] = count;
}
