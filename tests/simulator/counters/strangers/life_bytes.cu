// life_bytes.cu -- the game of life on bytes, the world wraps around
typedef unsigned char ubyte;
extern "C" __global__ void life_bytes(const ubyte* life, unsigned w, unsigned h, ubyte* result)
{
    unsigned size = w * h;
    for (unsigned id = blockIdx.x * blockDim.x + threadIdx.x; id < size;
         id += blockDim.x * gridDim.x) {
        unsigned x = id % w, y = id - x;
        unsigned xl = (x + w - 1) % w, xr = (x + 1) % w;
        unsigned yu = (y + size - w) % size, yd = (y + w) % size;
        unsigned alive = life[xl + yu] + life[x + yu] + life[xr + yu] + life[xl + y] +
                         life[xr + y] + life[xl + yd] + life[x + yd] + life[xr + yd];
        result[x + y] = alive == 3 || (alive == 2 && life[x + y]) ? 1 : 0;
    }
}
