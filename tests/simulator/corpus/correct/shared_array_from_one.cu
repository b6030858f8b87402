// shared_array_from_one.cu -- a pointer before a shared array, so that its indices start at 1
//
// launch: grid=2 block=64
// arguments: out float y 128; in float x 128 uniform
// result: y = x.reshape(2, 64)[:, ::-1].ravel()

extern "C" __global__ void shared_array_from_one(float* y, const float* x)
{
    __shared__ float cells[64];
    float* from_one = cells - 1;
    const int t = threadIdx.x + 1;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    from_one[t] = x[i];
    __syncthreads();
    y[i] = from_one[65 - t];
}
