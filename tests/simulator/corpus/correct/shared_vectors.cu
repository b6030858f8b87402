// shared_vectors.cu -- float4 loads from shared memory that floats were stored to
//
// launch: grid=1 block=64
// arguments: out float y 64; in float x 256 integers
// result: y = x.reshape(64, 4).sum(axis=1)

extern "C" __global__ void shared_vectors(float* y, const float* x)
{
    __shared__ __align__(16) float cells[256];
    const int t = threadIdx.x;
    for (int k = t; k < 256; k += 64) {
        cells[k] = x[k];
    }
    __syncthreads();
    const float4 v = reinterpret_cast<const float4*>(cells)[t];
    y[t] = v.x + v.y + v.z + v.w;
}
