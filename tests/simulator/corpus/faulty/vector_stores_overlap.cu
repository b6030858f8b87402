// vector_stores_overlap.cu -- WRONG ON PURPOSE: pairs are stored at every cell instead of every second one: neighbours
//     overwrite each other
//
// fault: race
// array: cells
// launch: grid=1 block=32
// arguments: out float y 64; in float x 64 uniform

struct Pair {
    float first, second;
};

extern "C" __global__ void vector_stores_overlap(float* y, const float* x)
{
    __shared__ float cells[64];
    const int t = threadIdx.x;
    Pair* pair = reinterpret_cast<Pair*>(cells + t);
    pair->first = x[2 * t]; // <- here
    pair->second = x[2 * t + 1]; // <- here
    if (t < 31) cells[33 + t] = 0.0f; // the rest of the array
    __syncthreads();
    y[t] = cells[t];
    y[32 + t] = cells[32 + t];
}
