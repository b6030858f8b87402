// signed_index.cu -- the index is made signed before 1 is taken off, and guarded
//
// twin: unsigned_index_wraps
// launch: grid=1 block=64
// arguments: out float y 64; in float x 64 uniform
// result: y = np.concatenate([x[:1], x[:-1]])

extern "C" __global__ void signed_index(float* y, const float* x)
{
    const int left = int(threadIdx.x) - 1;
    y[threadIdx.x] = x[max(left, 0)];
}
