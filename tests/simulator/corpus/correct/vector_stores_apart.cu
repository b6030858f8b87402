// vector_stores_apart.cu -- pairs are stored at every second cell
//
// twin: vector_stores_overlap
// launch: grid=1 block=32
// arguments: out float y 64; in float x 64 uniform
// result: y = x

struct Pair {
    float first, second;
};

extern "C" __global__ void vector_stores_apart(float* y, const float* x)
{
    __shared__ float cells[64];
    const int t = threadIdx.x;
    Pair* pair = reinterpret_cast<Pair*>(cells + 2 * t);
    pair->first = x[2 * t];
    pair->second = x[2 * t + 1];
    __syncthreads();
    y[t] = cells[t];
    y[32 + t] = cells[32 + t];
}
