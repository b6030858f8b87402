// life_ballot.cu -- a step of the game of life, 32 cells in a word
extern "C" __global__ void life_ballot(const unsigned char *in, unsigned *out, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    int alive = 0, self = 0;
    if (x < w) {
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++)
                alive += in[(y + dy + h) % h * w + (x + dx + w) % w];
        self = in[y * w + x];
        alive -= self;
    }
    unsigned word = __ballot_sync(0xffffffff, x < w && (alive == 3 || (self && alive == 2)));
    if (threadIdx.x % 32 == 0 && x < w)
        out[y * ((w + 31) / 32) + x / 32] = word;
}
